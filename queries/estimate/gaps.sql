-- What is known of calls that ran on both arms: the gap of one dimension, with the label of the
-- campaign that drew it, and when and on which version its real run was made.
WITH first_real AS (
    SELECT environment, trajectory_id,
        first_value(environment_version ORDER BY repeat) AS version,
        CAST(min(started_at) AS BIGINT) AS started_at
    FROM runs
    WHERE arm = 'real'
    GROUP BY environment, trajectory_id
),
first_sim AS (
    SELECT environment, trajectory_id, first_value(json_field(labels, 'budget') ORDER BY repeat) AS budget
    FROM runs
    WHERE arm = 'sim'
    GROUP BY environment, trajectory_id
)
SELECT
    g.environment,
    g.trajectory_id,
    g.turn,
    g."index",
    {raw} AS raw,
    {reliability} AS reliability,
    s.budget,
    coalesce(r.version, '-') AS version,
    r.started_at
FROM call_gaps_now AS g
JOIN first_real AS r ON r.environment = g.environment AND r.trajectory_id = g.trajectory_id
JOIN first_sim AS s ON s.environment = g.environment AND s.trajectory_id = g.trajectory_id
WHERE g.side = 'both'
ORDER BY g.environment, g.trajectory_id, g.turn, g."index"
