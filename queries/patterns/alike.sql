-- The calls at which the arms agree, counted by their features, in the trajectories used
-- for mining: the most frequent kinds.
SELECT
    environment, api, differs, outcome_sim, outcome_real, stale, argument_faults, kinds, latency,
    argument_names, api_before, api_after, position, count(*) AS calls
FROM pattern_features
WHERE differs = 'nothing' AND ({where})
  AND abs(hash64(concat(CAST(trajectory_key AS VARCHAR), '/{seed}')) % 10) >= 3
GROUP BY
    environment, api, differs, outcome_sim, outcome_real, stale, argument_faults, kinds, latency,
    argument_names, api_before, api_after, position
ORDER BY
    calls DESC, environment, api, outcome_sim, outcome_real, stale, argument_faults, latency,
    argument_names, api_before, api_after, position
LIMIT 20000
