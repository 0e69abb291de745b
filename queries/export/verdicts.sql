-- Verdicts on one range of runs.
SELECT v.run_id, v.judge, v.agent, v.reward, v.success, v.criteria, v.extra
FROM verdicts AS v
JOIN export_runs AS w ON w.run_id = v.run_id
WHERE v.trajectory_key BETWEEN {from} AND {to}
ORDER BY v.run_id, v.judge, v.agent, v.ordinal
