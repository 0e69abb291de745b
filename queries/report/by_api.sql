-- Calls by API: the 15 that most calls go to, and all others together. A call weighs
-- as its run.
WITH counted AS (
    SELECT c.run_id, c.name, count(*) AS calls
    FROM calls AS c
    JOIN curation_asked AS a ON a.arm = c.arm
    GROUP BY c.run_id, c.name
),
ranked AS (
    SELECT name, row_number() OVER (ORDER BY sum(calls) DESC, name) AS place
    FROM counted
    GROUP BY name
)
SELECT
    least(r.place, 16) AS place,
    CASE WHEN r.place <= 15 THEN r.name ELSE 'all others' END AS label,
    c.calls * s.all_weight AS all_weight,
    c.calls * s.right_weight AS right_weight,
    c.calls * s.kept_weight AS kept_weight,
    c.calls * s.weight AS weight
FROM counted AS c
JOIN ranked AS r ON r.name = c.name
JOIN curation_shown AS s ON s.run_id = c.run_id
