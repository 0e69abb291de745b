-- How far apart the catalogs look that the first run of each arm was offered, by trajectory.
-- Reads: pending_range, range_runs.
WITH offered AS (
    SELECT
        r.trajectory_key,
        max(CASE WHEN r.arm = 'sim' THEN r.catalog_hash END) AS catalog_sim,
        max(CASE WHEN r.arm = 'real' THEN r.catalog_hash END) AS catalog_real
    FROM range_runs AS r
    JOIN pending_range AS p ON p.trajectory_key = r.trajectory_key
    WHERE ((r.arm = 'sim' AND r.repeat = p.sim_0) OR (r.arm = 'real' AND r.repeat = p.real_0))
    GROUP BY r.trajectory_key
),
wanted AS (
    SELECT catalog_sim AS catalog_hash FROM offered
    UNION
    SELECT catalog_real AS catalog_hash FROM offered
),
texts AS (
    SELECT c.catalog_hash, tools(c.tool_index, c.name, c.description, c.parameters) AS tools
    FROM catalogs AS c
    LEFT SEMI JOIN wanted ON wanted.catalog_hash = c.catalog_hash
    GROUP BY c.catalog_hash
),
couples AS (
    -- Many trajectories share one pair of catalogs: compared once.
    SELECT DISTINCT catalog_sim, catalog_real FROM offered
    WHERE catalog_sim IS NOT NULL AND catalog_real IS NOT NULL
),
compared AS (
    SELECT couples.catalog_sim, couples.catalog_real, catalog_gap(s.tools, r.tools) AS surface
    FROM couples
    JOIN texts AS s ON s.catalog_hash = couples.catalog_sim
    JOIN texts AS r ON r.catalog_hash = couples.catalog_real
)
SELECT offered.trajectory_key, compared.surface
FROM offered
JOIN compared ON compared.catalog_sim = offered.catalog_sim AND compared.catalog_real = offered.catalog_real
