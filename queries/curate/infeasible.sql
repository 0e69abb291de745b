-- Trajectories whose actions failed in the real world for a cause of its own: the real
-- verdict says no success, and a call diverges that no earlier divergence explains.
WITH anybody AS (
    SELECT environment, trajectory_id, exact_mean(good) AS good
    FROM curation_opinions WHERE arm = 'real' GROUP BY environment, trajectory_id
),
chosen AS (
    SELECT environment, trajectory_id, exact_mean(good) AS good
    FROM curation_rewards WHERE arm = 'real' GROUP BY environment, trajectory_id
),
roots AS (
    SELECT DISTINCT environment, trajectory_id FROM call_gaps_now WHERE cause = 'structural'
)
SELECT a.environment, a.trajectory_id
FROM anybody AS a
JOIN roots AS r ON r.environment = a.environment AND r.trajectory_id = a.trajectory_id
LEFT JOIN chosen AS c ON c.environment = a.environment AND c.trajectory_id = a.trajectory_id
WHERE coalesce(c.good, a.good) <= 0.5
