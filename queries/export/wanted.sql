-- The runs to write, trajectory by trajectory as the files are sorted.
SELECT run_id, trajectory_key
FROM runs
WHERE {where}
ORDER BY trajectory_key, run_id
