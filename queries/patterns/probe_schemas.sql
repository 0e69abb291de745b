-- What the tools of an environment declare: sim's catalog where both have one.
SELECT c.name, coalesce(min(CASE WHEN r.arm = 'sim' THEN c.parameters END), min(c.parameters)) AS parameters
FROM (SELECT DISTINCT catalog_hash, arm FROM runs WHERE environment = $environment) AS r
JOIN catalogs AS c ON c.catalog_hash = r.catalog_hash
WHERE c.name IS NOT NULL AND c.parameters IS NOT NULL
GROUP BY c.name
ORDER BY c.name
