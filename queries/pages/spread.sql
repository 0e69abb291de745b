-- How fidelity is spread: trajectories by tenths of f, and those whose f is not known.
SELECT
    t.environment,
    CASE WHEN p.fidelity IS NULL THEN 10 ELSE least(CAST(floor(p.fidelity * 10) AS BIGINT), 9) END AS place,
    CASE
        WHEN p.fidelity IS NULL THEN 'unknown'
        WHEN p.fidelity >= 0.9 THEN '.9 to 1'
        ELSE concat('.', CAST(floor(p.fidelity * 10) AS BIGINT), ' to .', CAST(floor(p.fidelity * 10) AS BIGINT) + 1)
    END AS fidelity,
    count(*) AS trajectories
FROM trajectories AS t
LEFT JOIN profiles_now AS p
  ON p.trajectory_key = t.trajectory_key AND p.environment = t.environment
GROUP BY 1, 2, 3
ORDER BY 1, 2
