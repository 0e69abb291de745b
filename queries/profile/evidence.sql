-- Examples of differing values, at most five for every path of an API.
-- Reads: gaps (the rows of call_gaps.sql).
SELECT
    environment,
    trajectory_id,
    trajectory_key,
    slot,
    turn,
    index,
    generation,
    api,
    example['path_id'] AS path_id,
    example['path'] AS path,
    example['kind'] AS kind,
    example['cosmetic'] AS cosmetic,
    example['severity'] AS severity,
    example['weight'] AS weight,
    example['sim_value'] AS sim_value,
    example['real_value'] AS real_value
FROM (
    SELECT environment, trajectory_id, trajectory_key, slot, turn, index, generation, api, unnest(evidence) AS example
    FROM gaps
    WHERE cardinality(evidence) > 0
)
ORDER BY trajectory_key, slot, path_id
