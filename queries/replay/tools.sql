-- The tools of the newest catalog that the recorded runs were offered.
SELECT k.name, k.tool
FROM catalogs k
WHERE k.tool_index >= 0 AND k.catalog_hash = (
    SELECT catalog_hash FROM runs
    WHERE environment = $environment AND catalog_hash IS NOT NULL
    ORDER BY started_at DESC NULLS LAST, run_id LIMIT 1
)
ORDER BY k.tool_index
