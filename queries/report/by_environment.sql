-- The environments.
SELECT 0 AS place, environment AS label, all_weight, right_weight, kept_weight, weight
FROM curation_shown
