-- Which fields of which tool differ between the arms, and not only by themselves.
--
-- A field is reported if it differs between the arms in more trajectories than it
-- differs within one arm, by two thresholds: absolutely (more than 0.03 % of the
-- trajectories that call the tool) and relatively (the difference of the two shares
-- more than 20 % of their sum). What differs within an arm was learned from repeats
-- (`fidelake learn`); where nothing was repeated `noise_share` is null and every
-- difference is reported. `example` is a trajectory for `fidelake show`.
WITH of_api AS (
    SELECT environment, api, count(DISTINCT trajectory_key) AS trajectories
    FROM call_gaps_now
    WHERE side = 'both'
    GROUP BY environment, api
),
lost AS (
    SELECT environment, api, trajectory_key, weight, unnest(path_ids) AS path_id, unnest(path_weights) AS fields
    FROM call_gaps_now
),
paths AS (
    SELECT
        environment, api, path_id,
        count(*) AS calls,
        count(DISTINCT trajectory_key) AS trajectories,
        exact_mean(fields) AS fields
    FROM lost
    GROUP BY environment, api, path_id
),
named AS (
    SELECT
        environment, api, path_id, path, kind, cosmetic, severity,
        first_value(trajectory_id ORDER BY trajectory_key) AS example,
        first_value(sim_value ORDER BY trajectory_key) AS sim_value,
        first_value(real_value ORDER BY trajectory_key) AS real_value
    FROM evidence_now
    GROUP BY environment, api, path_id, path, kind, cosmetic, severity
),
shares AS (
    SELECT
        named.*,
        paths.calls,
        paths.trajectories,
        paths.fields,
        CAST(paths.trajectories AS DOUBLE) / of_api.trajectories AS share,
        greatest(v.trajectories_sim, v.trajectories_real) / CAST(v.trajectories_repeated AS DOUBLE) AS noise_share
    FROM paths
    JOIN of_api ON of_api.environment = paths.environment AND of_api.api = paths.api
    JOIN named ON named.environment = paths.environment AND named.api = paths.api AND named.path_id = paths.path_id
    LEFT JOIN volatile_paths_now AS v ON v.environment = named.environment AND v.api = named.api AND v.path = named.path
)
SELECT
    environment, api, path, kind, cosmetic, severity, calls, trajectories,
    round(share, 4) AS share,
    round(noise_share, 4) AS noise_share,
    round(fields, 4) AS mean_fields,
    sim_value, real_value, example
FROM shares
WHERE share - coalesce(noise_share, 0) > 0.0003
  AND share - coalesce(noise_share, 0) > 0.2 * (share + coalesce(noise_share, 0))
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warn' THEN 1 ELSE 2 END, share DESC, environment, api, path, kind
