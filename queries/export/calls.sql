-- Calls of one range of runs, each with what came back.
SELECT
    c.run_id, c.turn, c."index", c.call_id, c.name, c.requestor, c.arguments_raw, c.arguments_status,
    c.started_at_raw, c.extra AS call_extra,
    o.run_id IS NOT NULL AS answered,
    o.content, o.content_kind, o.structured_raw, o.is_error, o.status, o.rpc_code, o.error_type,
    CASE WHEN o.latency_source = 'given' THEN o.latency_ms END AS latency_ms,
    CASE WHEN o.truncated_rule = 'given' THEN o.truncated END AS truncated,
    o.state, o.state_hash, o.extra
FROM calls AS c
JOIN export_runs AS w ON w.run_id = c.run_id
LEFT JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
WHERE c.trajectory_key BETWEEN {from} AND {to}
ORDER BY c.run_id, c.turn, c."index"
