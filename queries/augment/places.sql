-- Where a rare answer might come first: calls of the simulator that went well, alone in their turn,
-- of an API that has rare failures in the real world. What was generated is nobody's host.
-- Reads graph_steps, augment_rare(environment, api, outcome).
WITH alone AS (
    SELECT run_id, turn FROM graph_steps WHERE arm = 'sim' GROUP BY run_id, turn HAVING count(*) = 1
)
SELECT s.environment, s.api, s.run_id, s.turn, s."index", s.arguments, s.before_api, s.before_outcome
FROM graph_steps AS s
JOIN (SELECT DISTINCT environment, api FROM augment_rare) AS r ON r.environment = s.environment AND r.api = s.api
JOIN runs AS u ON u.run_id = s.run_id
JOIN alone AS a ON a.run_id = s.run_id AND a.turn = s.turn
WHERE s.arm = 'sim' AND s.outcome = 'ok' AND s.arguments IS NOT NULL AND u.origin IS DISTINCT FROM 'generated'
ORDER BY s.environment, s.api, s.run_id, s.turn
