-- Runs that a plan selects; the first of each trajectory is taken.
SELECT environment, trajectory_id, run_id, task_id, group_id, policy, task, gold, extra, labels
FROM runs
WHERE (
{where}
)
ORDER BY environment, trajectory_id, CASE arm WHEN 'sim' THEN 0 ELSE 1 END, repeat
