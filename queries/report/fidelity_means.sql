-- Mean fidelity by dimension, and the share of weight on low fidelity (below .7),
-- over the runs where it is known; then the share of weight where it is not.
WITH long AS (
    SELECT 1 AS place, 'observation' AS label, fidelity_obs AS x, all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 2, 'action space', fidelity_act, all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 3, 'reward', fidelity_rew, all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 4, 'transition', fidelity_trans, all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 5, 'all of them (f)', fidelity, all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 6, 'low fidelity (f below .7)', CASE WHEN fidelity < 0.7 THEN 1.0 WHEN fidelity >= 0.7 THEN 0.0 END,
           all_weight, right_weight, kept_weight, weight FROM curation_shown
    UNION ALL
    SELECT 7, 'fidelity not measured', CASE WHEN fidelity IS NULL THEN 1.0 ELSE 0.0 END,
           all_weight, right_weight, kept_weight, weight FROM curation_shown
)
SELECT
    place,
    label,
    exact_sum(x * all_weight) / nullif(exact_sum(all_weight), 0) AS "all",
    exact_sum(x * right_weight) / nullif(exact_sum(right_weight), 0) AS "right",
    exact_sum(x * kept_weight) / nullif(exact_sum(kept_weight), 0) AS kept,
    exact_sum(x * weight) / nullif(exact_sum(weight), 0) AS weighted
FROM long
WHERE x IS NOT NULL
GROUP BY place, label
ORDER BY place
