-- Environments whose two arms hash their state alike: the same hash was seen on
-- both arms of one trajectory. Elsewhere two hashes say nothing of each other.
SELECT DISTINCT environment
FROM (
    SELECT environment, trajectory_key, state_hash
    FROM observations
    WHERE state_hash IS NOT NULL
    GROUP BY environment, trajectory_key, state_hash
    HAVING count(DISTINCT arm) > 1
)
