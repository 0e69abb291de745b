-- The calls of held-out trajectories that at least one rule finds.
-- {rules}: one column per rule; {any}: the rules; {where}, {seed}: as in calls.sql.
SELECT
    trajectory_key, slot,
    {rules}
FROM pattern_features
WHERE abs(hash64(concat(CAST(trajectory_key AS VARCHAR), '/{seed}')) % 10) < 3
  AND ({where})
  AND ({any})
