-- The calls of held-out trajectories that at least one rule finds.
-- In braces, filled in by the program: one column per rule, all rules, the user's condition
-- and the seed as in calls.sql.
SELECT
    trajectory_key, slot,
    {rules}
FROM pattern_features
WHERE abs(hash64(concat(CAST(trajectory_key AS VARCHAR), '/{seed}')) % 10) < 3
  AND ({where})
  AND ({any})
