-- The tools that were offered to one range of runs.
SELECT t.catalog_hash, t.tool
FROM catalogs AS t
WHERE t.catalog_hash IN (SELECT r.catalog_hash FROM runs AS r JOIN export_runs AS w ON w.run_id = r.run_id)
ORDER BY t.catalog_hash, t.tool_index
