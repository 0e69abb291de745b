-- How many calls of each kind the runs have that may be spliced. Reads graph_steps, augment_hosts(run_id).
SELECT s.run_id, s.environment, s.api, s.outcome, count(*) AS calls
FROM graph_steps AS s
JOIN augment_hosts AS h ON h.run_id = s.run_id
GROUP BY s.run_id, s.environment, s.api, s.outcome
ORDER BY s.run_id, s.environment, s.api, s.outcome
