-- The pool: every call of the first sim run of every trajectory, with what is known of it
-- without a real call. Runs that a campaign or a probe made are no part of it.
WITH first_runs AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat
    FROM runs
    WHERE arm = 'sim'
    GROUP BY environment, trajectory_id
)
SELECT
    r.environment,
    r.trajectory_id,
    c.turn,
    c."index",
    c.name AS api,
    coalesce(o.outcome, '-') AS outcome,
    coalesce(r.policy, '-') AS policy,
    coalesce(r.task_id, '-') AS task_id,
    coalesce(r.environment_version, '-') AS environment_version,
    c.call_key,
    CAST(coalesce(length(o.content), 0) AS DOUBLE) AS answer_size,
    CAST(coalesce(length(c.arguments_raw), 0) AS DOUBLE) AS arguments_size,
    coalesce(c.arguments_raw LIKE '%<masked:%', false) AS masked,
    CAST(r.started_at AS BIGINT) AS started_at
FROM runs AS r
JOIN first_runs AS f
  ON f.environment = r.environment AND f.trajectory_id = r.trajectory_id AND f.repeat = r.repeat
JOIN calls AS c ON c.run_id = r.run_id
LEFT JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
WHERE r.arm = 'sim' AND c.name IS NOT NULL AND c.turn >= 0
  AND json_field(r.labels, 'budget') IS NULL AND json_field(r.labels, 'probe') IS NULL
ORDER BY r.environment, r.trajectory_id, c.turn, c."index"
