-- Five current examples of every differing path of an API, the same five whatever
-- the order in which they were computed.
WITH current AS (
    SELECT e.*
    FROM evidence AS e
    LEFT ANTI JOIN profiles AS later
      ON later.environment = e.environment
     AND later.trajectory_id = e.trajectory_id
     AND later.generation > e.generation
)
SELECT environment, trajectory_id, trajectory_key, slot, turn, index, generation, api, path_id, path, kind, cosmetic, severity,
       weight, sim_value, real_value
FROM (
    SELECT current.*, row_number() OVER (
        PARTITION BY environment, api, path_id ORDER BY trajectory_key, slot
    ) AS place
    FROM current
)
WHERE place <= 5
