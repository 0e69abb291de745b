-- Calls that can be sampled: those of the sim arm, by region, with the trajectory they stand in.
-- Runs that a campaign or a probe made are no part of it.
SELECT r.environment, c.name AS api, coalesce(o.outcome, '-') AS outcome, r.trajectory_id
FROM runs AS r
JOIN calls AS c ON c.run_id = r.run_id
LEFT JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
WHERE r.arm = 'sim' AND r.repeat = 0 AND c.name IS NOT NULL AND c.turn >= 0
  AND json_field(r.labels, 'budget') IS NULL AND json_field(r.labels, 'probe') IS NULL
ORDER BY r.environment, r.trajectory_id, c.turn, c."index"
