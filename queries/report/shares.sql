-- What part of the whole weight stands on each class of `curation_part`
-- (place, label, all_weight, right_weight, kept_weight, weight), four ways.
WITH sums AS (
    SELECT
        place, label,
        exact_sum(all_weight) AS all_weight,
        exact_sum(right_weight) AS right_weight,
        exact_sum(kept_weight) AS kept_weight,
        exact_sum(weight) AS weight
    FROM curation_part
    GROUP BY place, label
)
SELECT
    place,
    label,
    all_weight / nullif(exact_sum(all_weight) OVER (), 0) AS "all",
    right_weight / nullif(exact_sum(right_weight) OVER (), 0) AS "right",
    kept_weight / nullif(exact_sum(kept_weight) OVER (), 0) AS kept,
    weight / nullif(exact_sum(weight) OVER (), 0) AS weighted
FROM sums
ORDER BY place, all_weight DESC, label
