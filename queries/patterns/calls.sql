-- The calls at which the arms differ, with their features, and what is left of the
-- difference after the arms' own noise where both were repeated.
-- In braces, filled in by the program: the user's condition over pattern_features, and the seed
-- that says which trajectories are held out.
SELECT
    environment, trajectory_id, trajectory_key, slot, turn, "index", api, differs,
    outcome_sim, outcome_real, stale, argument_faults, kinds, paths, latency,
    argument_names, api_before, api_after, position, cause, weight, gap,
    -- The distance between the arms before noise was taken off: D + (d_SS' + d_RR') / 2.
    CASE differs WHEN 'outcome' THEN outcome_raw WHEN 'answer' THEN obs_raw WHEN 'state' THEN state_raw END AS raw,
    CASE differs
        WHEN 'outcome' THEN outcome_raw + (outcome_noise_sim + outcome_noise_real) / 2
        WHEN 'answer' THEN obs_raw + (obs_noise_sim + obs_noise_real) / 2
        WHEN 'state' THEN state_raw + (state_noise_sim + state_noise_real) / 2
    END AS distance,
    abs(hash64(concat(CAST(trajectory_key AS VARCHAR), '/{seed}')) % 10) < 3 AS held_out
FROM pattern_features
WHERE differs <> 'nothing' AND ({where})
-- Features and kinds are numbered as they come: another order would be another mining.
ORDER BY trajectory_key, slot
