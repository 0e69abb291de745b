-- Everything about one pattern.
SELECT
    generation, pattern_id, environment, family, name, rule, status, test, p_value,
    array_to_string(apis, ', ') AS apis, calls, trajectories, gap, share_gap,
    root_share, state_share, flaky_share, precision, recall, held_out,
    array_to_string(examples, ' ') AS examples, method, setting, score, seed
FROM patterns_now
WHERE pattern_id = $id
