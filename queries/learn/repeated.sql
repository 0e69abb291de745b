-- Trajectories with repeats on both arms: what varies there is noise.
SELECT
    environment,
    trajectory_id,
    trajectory_key,
    sum(call_count) AS calls,
    min(CASE WHEN arm = 'sim' THEN repeat END) AS sim_0,
    max(CASE WHEN arm = 'sim' THEN repeat END) AS sim_1,
    min(CASE WHEN arm = 'real' THEN repeat END) AS real_0,
    max(CASE WHEN arm = 'real' THEN repeat END) AS real_1
FROM runs
GROUP BY environment, trajectory_id, trajectory_key
HAVING count(*) FILTER (WHERE arm = 'sim') > 1
   AND count(*) FILTER (WHERE arm = 'real') > 1
ORDER BY trajectory_key, environment, trajectory_id
