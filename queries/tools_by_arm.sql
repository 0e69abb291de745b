-- Which tools an arm lacks, and which are declared otherwise.
--
-- What an agent is offered, beside `delta_act`: one row per tool that only one
-- arm has, or whose parameters or description differ. A tool of another name with
-- the same parameters stands twice here, and counts as renamed in `profiles_now`.
WITH offered AS (
    SELECT DISTINCT
        r.environment,
        r.arm,
        c.name,
        coalesce(c.parameters, '') AS parameters,
        coalesce(c.description, '') AS description
    FROM runs AS r
    JOIN catalogs AS c ON c.catalog_hash = r.catalog_hash
    WHERE c.tool_index >= 0
),
arms AS (
    SELECT environment
    FROM offered
    GROUP BY environment
    HAVING count(DISTINCT arm) = 2  -- an arm without a catalog lacks nothing that is known
),
tools AS (
    SELECT
        o.environment,
        o.name AS tool,
        bool_or(o.arm = 'sim') AS on_sim,
        bool_or(o.arm = 'real') AS on_real,
        count(DISTINCT o.parameters) > 1 AS parameters_differ,
        count(DISTINCT o.description) > 1 AS description_differs
    FROM offered AS o
    JOIN arms AS a ON a.environment = o.environment
    GROUP BY o.environment, o.name
),
calls_of AS (
    SELECT environment, name, count(*) AS calls
    FROM calls
    WHERE name IS NOT NULL
    GROUP BY environment, name
)
SELECT
    t.environment,
    t.tool,
    CASE WHEN t.on_sim AND t.on_real THEN 'both' WHEN t.on_sim THEN 'sim only' ELSE 'real only' END AS offered,
    t.parameters_differ,
    t.description_differs,
    coalesce(c.calls, 0) AS calls
FROM tools AS t
LEFT JOIN calls_of AS c ON c.environment = t.environment AND c.name = t.tool
WHERE NOT (t.on_sim AND t.on_real) OR t.parameters_differ OR t.description_differs
ORDER BY t.environment, t.on_sim AND t.on_real, t.on_real, t.tool
