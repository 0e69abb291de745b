-- Arguments that the tools of an environment were called with, each once.
SELECT DISTINCT name, arguments
FROM calls
WHERE environment = $environment AND name IS NOT NULL AND arguments IS NOT NULL
ORDER BY name, arguments
LIMIT 50000
