-- From state to state: which call changed what, as far as states were recorded.
--
-- States are the hashes that the sources give. A call that leaves the state alone leads back to it.
-- The most travelled first. Reads graph_steps (steps.sql).
SELECT
    c.environment, c.before_state AS from_state, c.state_hash AS to_state, c.api, c.outcome,
    count(CASE WHEN arm = 'sim' THEN 1 END) AS sim_count,
    count(CASE WHEN arm = 'real' THEN 1 END) AS real_count
FROM graph_steps AS c
WHERE c.state_hash IS NOT NULL AND ({where})
GROUP BY c.environment, c.before_state, c.state_hash, c.api, c.outcome
ORDER BY count(*) DESC, c.environment, c.before_state NULLS FIRST, c.state_hash, c.api, c.outcome
