-- In how many distinct tools of the sim catalogs each word stands.
WITH offered AS (
    SELECT DISTINCT c.name, c.description, c.parameters
    FROM catalogs AS c
    LEFT SEMI JOIN (SELECT DISTINCT catalog_hash FROM runs WHERE arm = 'sim') AS sim
      ON sim.catalog_hash = c.catalog_hash
    WHERE c.tool_index >= 0
),
words AS (
    SELECT unnest(tool_words(name, description, parameters)) AS word FROM offered
)
SELECT word, CAST(count(*) AS BIGINT) AS tools, (SELECT CAST(count(*) AS BIGINT) FROM offered) AS tools_all
FROM words
GROUP BY word
ORDER BY word
