-- The rare answers themselves, as the real world gave them: at most 200 of a kind.
-- Reads graph_steps, augment_rare(environment, api, outcome).
SELECT environment, api, outcome, run_id, turn, "index", arguments
FROM (
    SELECT s.environment, s.api, s.outcome, s.run_id, s.turn, s."index", s.arguments,
           row_number() OVER (PARTITION BY s.environment, s.api, s.outcome ORDER BY s.run_id, s.turn, s."index") AS place
    FROM graph_steps AS s
    JOIN augment_rare AS r ON r.environment = s.environment AND r.api = s.api AND r.outcome = s.outcome
    WHERE s.arm = 'real' AND s.arguments IS NOT NULL
)
WHERE place <= 200
ORDER BY environment, api, outcome, place
