-- How often calls of a tool differ, by what is wrong with their arguments.
SELECT
    api, argument_faults, count(*) AS calls,
    count(CASE WHEN differs <> 'nothing' THEN 1 END) AS differing
FROM pattern_features
WHERE environment = $environment
GROUP BY api, argument_faults
ORDER BY api, argument_faults
