-- Messages of one range of runs.
SELECT m.run_id, m.role, m.content, m.content_kind, m.name, m.calls, m.result_turn, m.result_index, m.sent_at_raw, m.extra
FROM messages AS m
JOIN export_runs AS w ON w.run_id = m.run_id
WHERE m.trajectory_key BETWEEN {from} AND {to}
ORDER BY m.run_id, m.position
