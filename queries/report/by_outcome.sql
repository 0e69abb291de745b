-- Calls by how they ended. A call weighs as its run.
WITH counted AS (
    SELECT o.run_id, o.outcome, count(*) AS calls
    FROM observations AS o
    JOIN curation_asked AS a ON a.arm = o.arm
    GROUP BY o.run_id, o.outcome
)
SELECT
    0 AS place,
    c.outcome AS label,
    c.calls * s.all_weight AS all_weight,
    c.calls * s.right_weight AS right_weight,
    c.calls * s.kept_weight AS kept_weight,
    c.calls * s.weight AS weight
FROM counted AS c
JOIN curation_shown AS s ON s.run_id = c.run_id
