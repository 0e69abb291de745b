-- Every pair of runs at every slot, with the distance of each component.
-- `sr`: between the arms. `ss`, `rr`: within one arm, which is its noise.
SELECT
    a.trajectory_key,
    a.slot,
    CASE WHEN a.arm = b.arm THEN CASE WHEN a.arm = 'sim' THEN 'ss' ELSE 'rr' END ELSE 'sr' END AS pair,
    a.arm <> b.arm AND a.repeat = a.sim_0 AND b.repeat = b.real_0 AS pair_00,
    a.arm <> b.arm AND a.repeat = a.sim_1 AND b.repeat = b.real_1 AS pair_11,
    -- Answers are compared only where both worlds say the same of the call:
    -- another outcome is a difference of transition, not of observation.
    CASE WHEN a.outcome = b.outcome THEN answer_gap(
        a.structured, a.content, a.structured_rule, a.truncated,
        b.structured, b.content, b.structured_rule, b.truncated
    ) END AS answer,
    acceptance_distance(a.outcome, b.outcome) AS acceptance,
    outcome_distance(a.outcome, b.outcome) AS outcome,
    state_distance(a.state, a.state_hash, b.state, b.state_hash) AS state,
    latency_distance(a.latency_ms, b.latency_ms) AS latency
FROM slots AS a
JOIN slots AS b
  ON b.trajectory_key = a.trajectory_key
 AND b.slot = a.slot
 AND b.run_order > a.run_order
