-- Fidelity f in tenths.
SELECT
    CASE WHEN fidelity IS NULL THEN 10 ELSE least(CAST(floor(fidelity * 10) AS BIGINT), 9) END AS place,
    CASE
        WHEN fidelity IS NULL THEN 'not measured'
        WHEN fidelity >= 0.9 THEN '.9 to 1'
        ELSE concat('.', CAST(floor(fidelity * 10) AS BIGINT), ' to .', CAST(floor(fidelity * 10) AS BIGINT) + 1)
    END AS label,
    all_weight, right_weight, kept_weight, weight
FROM curation_shown
