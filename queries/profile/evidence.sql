-- Examples of differing values, at most five for every path of an API.
-- Reads: examples (the lists `evidence` of call_gaps.sql, spread out).
SELECT
    environment,
    trajectory_id,
    trajectory_key,
    slot,
    turn,
    index,
    generation,
    api,
    path_id,
    path,
    kind,
    cosmetic,
    severity,
    weight,
    sim_value,
    real_value
FROM examples
ORDER BY trajectory_key, slot, path_id
