-- The calls of one pattern of the newest run of `fidelake mine`, the widest apart first.
-- Parameter: id, the pattern's.
SELECT
    m.environment,
    m.trajectory_id,
    m.turn,
    m."index",
    coalesce(m.api, '-') AS api,
    coalesce(g.outcome_sim, '-') AS outcome_sim,
    coalesce(g.outcome_real, '-') AS outcome_real,
    g.cause,
    round(m.gap, 4) AS gap,
    m.held_out,
    m.slot
FROM pattern_members_now AS m
LEFT JOIN call_gaps_now AS g
  ON g.trajectory_key = m.trajectory_key AND g.environment = m.environment AND g.slot = m.slot
WHERE m.pattern_id = $id
ORDER BY gap DESC, environment, trajectory_id, slot
