-- How many runs each of the four ways counts, and what their weights are worth:
-- (sum of w)^2 / (sum of w^2), as if that many runs weighed the same.
SELECT
    1 AS place,
    'runs' AS label,
    exact_sum(all_weight) AS "all",
    exact_sum(right_weight) AS "right",
    exact_sum(kept_weight) AS kept,
    power(exact_sum(weight), 2) / nullif(exact_sum(weight * weight), 0) AS weighted
FROM curation_shown
