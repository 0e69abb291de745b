-- Environments whose two arms hash their state alike: the same hash was seen on
-- both arms of one trajectory. Elsewhere two hashes say nothing of each other.
-- Only trajectories of both arms can show it, and numbers are kept instead of texts:
-- a lake has as many states as calls.
WITH dual AS (
    SELECT trajectory_key
    FROM runs
    GROUP BY trajectory_key
    HAVING bit_or(CASE arm WHEN 'sim' THEN 1 ELSE 2 END) = 3
)
SELECT DISTINCT environment
FROM (
    SELECT seen.environment
    FROM observations AS seen
    LEFT SEMI JOIN dual ON dual.trajectory_key = seen.trajectory_key
    WHERE seen.state_hash IS NOT NULL
    GROUP BY seen.environment, seen.trajectory_key, hash64(seen.state_hash)
    HAVING bit_or(CASE seen.arm WHEN 'sim' THEN 1 ELSE 2 END) = 3
)
