-- How hard the task is: its smoothed pass rate (successes + .5) / (runs + 1) over the
-- runs of this arm, in fifths.
WITH tasks AS (
    SELECT
        environment, task,
        (exact_sum(right_share) + 0.5) / (count(right_share) + 1) AS rate
    FROM curation_shown
    GROUP BY environment, task
    HAVING count(right_share) > 0
)
SELECT
    CASE WHEN t.rate IS NULL THEN 5 ELSE least(CAST(floor(t.rate * 5) AS BIGINT), 4) END AS place,
    CASE
        WHEN t.rate IS NULL THEN 'not judged'
        WHEN t.rate < 0.2 THEN 'pass rate below .2'
        WHEN t.rate < 0.4 THEN '.2 to .4'
        WHEN t.rate < 0.6 THEN '.4 to .6'
        WHEN t.rate < 0.8 THEN '.6 to .8'
        ELSE '.8 and above'
    END AS label,
    s.all_weight, s.right_weight, s.kept_weight, s.weight
FROM curation_shown AS s
LEFT JOIN tasks AS t ON t.environment = s.environment AND t.task = s.task
