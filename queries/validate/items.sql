-- One row per profiled trajectory: what the profile says, and what the trivial rivals see.
WITH first_runs AS (
    SELECT environment, trajectory_id, arm, min(repeat) AS repeat
    FROM runs
    GROUP BY environment, trajectory_id, arm
),
firsts AS (
    SELECT r.environment, r.trajectory_id, r.arm, r.task_id, r.task, r.gold, r.catalog_hash, r.labels
    FROM runs AS r
    JOIN first_runs AS f
      ON f.environment = r.environment AND f.trajectory_id = r.trajectory_id
     AND f.arm = r.arm AND f.repeat = r.repeat
)
SELECT
    p.environment,
    p.trajectory_id,
    coalesce(s.task_id, r.task_id, p.trajectory_id) AS task_id,
    s.labels AS labels_sim,
    r.labels AS labels_real,
    p.gold_source,
    p.decision_signed,
    p.decision_obs,
    p.decision_act,
    p.decision_rew,
    p.delta_trans,
    p.run_obs,
    p.run_act,
    -- What looks different, whatever it does.
    CASE WHEN coalesce(p.surface_task, p.surface_obs, p.surface_act, p.surface_rew) IS NOT NULL THEN
        1 - (1 - coalesce(p.surface_task, 0)) * (1 - coalesce(p.surface_obs, 0))
          * (1 - coalesce(p.surface_act, 0)) * (1 - coalesce(p.surface_rew, 0))
    END AS surface,
    CAST(p.tools_added AS DOUBLE) AS tools_added,
    CASE WHEN s.task IS DISTINCT FROM r.task THEN 1.0 ELSE 0.0 END AS query_changed,
    -- Nothing was told, offered or answered otherwise: what differs here is chance.
    (s.task IS NOT DISTINCT FROM r.task)
        AND (s.catalog_hash IS NOT DISTINCT FROM r.catalog_hash)
        AND (s.gold IS NOT DISTINCT FROM r.gold)
        AND p.calls = p.pairs
        AND coalesce(p.run_obs, 0) = 0 AND coalesce(p.run_act, 0) = 0 AND coalesce(p.delta_trans, 0) = 0 AS equal
FROM profiles_now AS p
JOIN firsts AS s ON s.environment = p.environment AND s.trajectory_id = p.trajectory_id AND s.arm = 'sim'
JOIN firsts AS r ON r.environment = p.environment AND r.trajectory_id = p.trajectory_id AND r.arm = 'real'
ORDER BY p.environment, p.trajectory_id
