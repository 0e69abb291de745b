-- The calls to make again, as given, of the trajectories that were drawn.
WITH first_runs AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat
    FROM runs
    WHERE arm = 'sim'
    GROUP BY environment, trajectory_id
)
SELECT r.environment, r.trajectory_id, r.task_id, r.group_id, r.policy, r.labels, r.extra,
    c.turn, c."index", c.call_id, c.requestor, c.name, c.arguments_raw
FROM runs AS r
JOIN first_runs AS f
  ON f.environment = r.environment AND f.trajectory_id = r.trajectory_id AND f.repeat = r.repeat
JOIN budget_drawn AS d ON d.environment = r.environment AND d.trajectory_id = r.trajectory_id
JOIN calls AS c ON c.run_id = r.run_id
WHERE r.arm = 'sim' AND c.name IS NOT NULL AND c.turn >= 0
ORDER BY r.environment, r.trajectory_id, c.turn, c."index"
