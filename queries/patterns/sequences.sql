-- The calls of every compared trajectory in order, with whether the arms differ there by
-- more than noise. In braces, filled in by the program: the user's condition over
-- pattern_features, and from which gap on a call counts as low.
SELECT trajectory_key, slot, api, environment, gap >= {min_gap} AS low
FROM pattern_features
WHERE {where}
ORDER BY environment, trajectory_key, slot
