-- How much training weight stands on low fidelity, before and after the gate.
--
-- Low: f below .7, f being the product of what the profile knows. Before: every row counts
-- alike, as with a filter by reward only. Broken: right on sim, and the real world, where
-- it judged the same actions, says no. Trajectories without a profile have no f. Rows whose answers were
-- replaced by real ones (`repaired` in the shards) count by the profile that the simulator's answers have.
WITH real_said AS (
    SELECT environment, trajectory_id,
           exact_mean(CASE WHEN coalesce(success, reward >= 1.0) THEN 1.0 ELSE 0.0 END) AS good
    FROM verdicts
    WHERE arm = 'real' AND (success IS NOT NULL OR reward IS NOT NULL)
    GROUP BY environment, trajectory_id
),
weighed AS (
    SELECT
        c.curation_id,
        c.fidelity_weight AS weight,
        p.fidelity IS NOT NULL AS known,
        coalesce(p.fidelity < 0.7, false) AS low,
        coalesce(c.reward >= 1.0 AND s.good <= 0.5, false) AS broken
    FROM curation_rows AS c
    LEFT JOIN profiles_now AS p
      ON p.environment = c.environment AND p.trajectory_id = c.trajectory_id
    LEFT JOIN real_said AS s
      ON s.environment = c.environment AND s.trajectory_id = c.trajectory_id
),
sums AS (
    SELECT
        curation_id,
        count(*) AS rows,
        count(CASE WHEN known THEN 1 END) AS with_profile,
        count(CASE WHEN low THEN 1 END) AS low_rows,
        count(CASE WHEN broken THEN 1 END) AS broken_rows,
        exact_sum(weight) AS weight,
        exact_sum(CASE WHEN low THEN weight ELSE 0.0 END) AS low_weight,
        exact_sum(CASE WHEN broken THEN weight ELSE 0.0 END) AS broken_weight
    FROM weighed
    GROUP BY curation_id
)
SELECT
    sums.curation_id,
    sums.rows,
    sums.with_profile,
    CAST(low_rows AS DOUBLE) / sums.rows AS low_before,
    low_weight / nullif(weight, 0.0) AS low_after,
    1 - low_weight / nullif(weight, 0.0) / nullif(CAST(low_rows AS DOUBLE) / sums.rows, 0.0) AS lower_by,
    CAST(broken_rows AS DOUBLE) / sums.rows AS broken_before,
    broken_weight / nullif(weight, 0.0) AS broken_after
FROM sums
JOIN curations ON curations.curation_id = sums.curation_id
ORDER BY curations.curated_at, sums.curation_id
