-- Runs of one range, in the order in which they were made where that is known.
SELECT
    r.run_id, r.trajectory_id, r.environment, r.arm, r.repeat, r.environment_version, r.origin, r.policy, r.task_id,
    r.group_id, r.started_at_raw, r.ended_at_raw, r.termination, r.task, r.gold, r.catalog_hash, r.labels, r.extra
FROM runs AS r
JOIN export_runs AS w ON w.run_id = r.run_id
WHERE r.trajectory_key BETWEEN {from} AND {to}
ORDER BY r.environment, r.trajectory_id, r.started_at NULLS FIRST, r.repeat, r.arm
