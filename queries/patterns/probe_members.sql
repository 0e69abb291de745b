-- The calls of a pattern that the first sim run makes, in order.
WITH first_runs AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat FROM runs WHERE arm = 'sim' GROUP BY environment, trajectory_id
)
SELECT m.environment, m.trajectory_id, m.turn, m."index", coalesce(m.api, '-') AS api
FROM pattern_members_now AS m
JOIN first_runs AS f ON f.environment = m.environment AND f.trajectory_id = m.trajectory_id
JOIN calls AS c
  ON c.trajectory_key = m.trajectory_key AND c.arm = 'sim' AND c.repeat = f.repeat
 AND c.turn = m.turn AND c."index" = m."index" AND c.name = m.api
WHERE m.pattern_id = $id
ORDER BY m.environment, m.trajectory_id, m.turn, m."index"
