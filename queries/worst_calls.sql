-- The calls that mislead an agent most, worst first.
--
-- Ranked by `obs_value`, not by `obs_distance`: a field that both arms have with
-- *different values* (a booking that kept its old cabin) tells the agent
-- something false about the world. A field that only one arm has, or that is
-- spelled in another form (null against absent, a renamed key), is a large part
-- of many distances and misleads much less. Where the outcomes differ there are
-- no answers to compare: one arm refused what the other did, the heaviest
-- difference of all, so those calls count as wholly different.
-- The rest of the distance decides between equals.
SELECT
    environment,
    trajectory_id,
    turn,
    "index",
    api,
    outcome_sim,
    outcome_real,
    round(CASE WHEN outcome_sim IS DISTINCT FROM outcome_real THEN 1.0 ELSE obs_value END, 4) AS value_loss,
    round(obs_distance, 4) AS obs_distance,
    paths_value,
    paths_type,
    paths_missing,
    paths_extra,
    cause
FROM call_gaps_now
WHERE side = 'both'
  AND cause <> 'flaky'  -- an arm that disagrees with itself says nothing about the other
  AND ((outcome_sim IS DISTINCT FROM outcome_real) OR obs_distance > 0)
ORDER BY
    CASE WHEN outcome_sim IS DISTINCT FROM outcome_real THEN 1.0 ELSE coalesce(obs_value, 0) END DESC,
    coalesce(obs_distance, 0) DESC,
    -- Roots before what follows from them.
    CASE cause WHEN 'structural' THEN 0 ELSE 1 END,
    environment, trajectory_id, slot
LIMIT 100
