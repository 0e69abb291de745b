-- Recorded calls with their answers, run by run, for replays. What was itself
-- replayed or generated, or is no answer of the tool, is left out by the reader.
SELECT c.run_id, c.trajectory_id, c.name, c.arguments, c.arguments_raw, c.call_key,
       o.content, o.content_kind, o.structured, o.structured_rule, o.structured_raw, o.is_error, o.status,
       o.rpc_code, o.error_type, o.truncated, o.state_hash, o.extra, o.outcome, o.latency_ms,
       c.arm, r.origin, r.started_at
FROM calls c
JOIN observations o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
JOIN runs r ON r.run_id = c.run_id
WHERE c.name IS NOT NULL AND c.turn >= 0 AND c.run_id IN (
    SELECT run_id FROM runs WHERE environment = $environment AND (
{where}
    )
)
ORDER BY c.trajectory_id, c.arm, c.repeat, c.turn, c."index"
