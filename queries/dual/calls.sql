-- Calls of the selected runs, in order, with the values of their results.
SELECT c.run_id, c.turn, c."index", c.call_id, c.requestor, c.name, c.arguments_raw, o.structured, c.extra
FROM calls c
JOIN dual_wanted w ON w.run_id = c.run_id
LEFT JOIN observations o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
WHERE c.name IS NOT NULL AND c.turn >= 0
ORDER BY c.run_id, c.turn, c."index"
