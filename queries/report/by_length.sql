-- Calls of a run.
SELECT
    CASE
        WHEN call_count <= 2 THEN call_count
        WHEN call_count <= 4 THEN 3
        WHEN call_count <= 8 THEN 4
        WHEN call_count <= 16 THEN 5
        WHEN call_count <= 32 THEN 6
        ELSE 7
    END AS place,
    CASE
        WHEN call_count = 0 THEN 'no call'
        WHEN call_count = 1 THEN '1 call'
        WHEN call_count = 2 THEN '2'
        WHEN call_count <= 4 THEN '3 to 4'
        WHEN call_count <= 8 THEN '5 to 8'
        WHEN call_count <= 16 THEN '9 to 16'
        WHEN call_count <= 32 THEN '17 to 32'
        ELSE 'more than 32'
    END AS label,
    all_weight, right_weight, kept_weight, weight
FROM curation_shown
