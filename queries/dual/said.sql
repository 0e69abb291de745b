-- What users said in the selected runs: values in it did not come from a result.
SELECT m.run_id, m.content
FROM messages m
JOIN dual_wanted w ON w.run_id = m.run_id
WHERE m.role = 'user' AND m.content IS NOT NULL
