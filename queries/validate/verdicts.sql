-- How often each agent was right on either arm of a trajectory, over all that its judges said.
-- A verdict that says no success is right at full reward.
WITH told AS (
    -- Who was not named is known by the judge.
    SELECT environment, trajectory_id, arm, coalesce(nullif(agent, ''), judge) AS agent, coalesce(success, reward >= 1.0) AS well
    FROM verdicts
)
SELECT
    environment,
    trajectory_id,
    agent,
    count(CASE WHEN arm = 'sim' AND well THEN 1 END) / CAST(count(CASE WHEN arm = 'sim' THEN well END) AS DOUBLE) AS sim,
    count(CASE WHEN arm = 'real' AND well THEN 1 END) / CAST(count(CASE WHEN arm = 'real' THEN well END) AS DOUBLE) AS real
FROM told
GROUP BY environment, trajectory_id, agent
HAVING count(CASE WHEN arm = 'sim' THEN well END) > 0 AND count(CASE WHEN arm = 'real' THEN well END) > 0
ORDER BY environment, trajectory_id, agent
