-- What differs in the answers of an API: up to five pairs of values for every differing path.
-- Parameters: environment, api; null takes all.
SELECT
    environment,
    coalesce(api, '-') AS api,
    path,
    kind,
    severity,
    sim_value,
    real_value,
    trajectory_id,
    turn,
    "index"
FROM evidence_now
WHERE (CAST($environment AS VARCHAR) IS NULL OR environment = $environment)
  AND (CAST($api AS VARCHAR) IS NULL OR coalesce(api, '-') = $api)
ORDER BY
    CASE severity WHEN 'error' THEN 0 WHEN 'warn' THEN 1 ELSE 2 END,
    environment, api, path, kind, trajectory_id, slot
