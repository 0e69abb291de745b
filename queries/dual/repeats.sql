-- The next free repeat of every trajectory on each arm.
SELECT environment, trajectory_id, arm, max(repeat) + 1 AS next
FROM runs
GROUP BY environment, trajectory_id, arm
