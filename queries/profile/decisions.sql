-- What the probe agent would do in either world, for the trajectories in a range
-- that were offered tools on both arms.
-- Reads: pending_range, range_runs, range_verdicts, range_calls, range_observations.
WITH asked AS (
    SELECT p.trajectory_key, p.sim_0, p.real_0 FROM pending_range AS p WHERE p.offered
),
-- Recorded calls are those of a sim run that went well, where there is one.
well AS (
    SELECT v.trajectory_key, min(v.repeat) AS repeat
    FROM range_verdicts AS v
    LEFT SEMI JOIN asked ON asked.trajectory_key = v.trajectory_key
    WHERE v.arm = 'sim' AND v.success
    GROUP BY v.trajectory_key
),
chosen AS (
    SELECT asked.trajectory_key, coalesce(well.repeat, asked.sim_0) AS sim_run, asked.real_0 AS real_run
    FROM asked
    LEFT JOIN well ON well.trajectory_key = asked.trajectory_key
),
told AS (
    SELECT
        r.trajectory_key,
        max(CASE WHEN r.arm = 'sim' THEN r.catalog_hash END) AS catalog_sim,
        max(CASE WHEN r.arm = 'real' THEN r.catalog_hash END) AS catalog_real,
        max(CASE WHEN r.arm = 'sim' THEN r.task END) AS task_sim,
        max(CASE WHEN r.arm = 'real' THEN r.task END) AS task_real,
        max(CASE WHEN r.arm = 'sim' THEN r.gold END) AS gold_sim,
        max(CASE WHEN r.arm = 'real' THEN r.gold END) AS gold_real,
        -- Where both have `decisions`, logged by a policy, these stand in the place of the probe's.
        max(CASE WHEN r.arm = 'sim' THEN r.extra END) AS extra_sim,
        max(CASE WHEN r.arm = 'real' THEN r.extra END) AS extra_real
    FROM range_runs AS r
    JOIN chosen AS c ON c.trajectory_key = r.trajectory_key
    WHERE (r.arm = 'sim' AND r.repeat = c.sim_run) OR (r.arm = 'real' AND r.repeat = c.real_run)
    GROUP BY r.trajectory_key
),
wanted AS (
    SELECT catalog_sim AS catalog_hash FROM told
    UNION
    SELECT catalog_real AS catalog_hash FROM told
),
texts AS (
    SELECT c.catalog_hash, tools(c.tool_index, c.name, c.description, c.parameters) AS tools
    FROM catalogs AS c
    LEFT SEMI JOIN wanted ON wanted.catalog_hash = c.catalog_hash
    GROUP BY c.catalog_hash
),
-- The calls of the agent (those of a simulated user are not its own), with their answers.
lived AS (
    SELECT
        c.trajectory_key, c.arm,
        steps(c.turn, c.index, c.name, c.call_key, c.arguments_raw, coalesce(o.content, o.structured)) AS steps
    FROM range_calls AS c
    JOIN chosen ON chosen.trajectory_key = c.trajectory_key
    LEFT JOIN range_observations AS o
      ON o.trajectory_key = c.trajectory_key
     AND o.arm = c.arm
     AND o.repeat = c.repeat
     AND o.turn = c.turn
     AND o.index = c.index
    WHERE ((c.arm = 'sim' AND c.repeat = chosen.sim_run) OR (c.arm = 'real' AND c.repeat = chosen.real_run))
      AND coalesce(c.requestor, 'assistant') <> 'user'
    GROUP BY c.trajectory_key, c.arm
)
SELECT
    told.trajectory_key,
    decision_gap(
        s.tools, r.tools, told.task_sim, told.task_real, told.gold_sim, told.gold_real,
        on_sim.steps, on_real.steps, told.extra_sim, told.extra_real
    ) AS decision
FROM told
JOIN texts AS s ON s.catalog_hash = told.catalog_sim
JOIN texts AS r ON r.catalog_hash = told.catalog_real
LEFT JOIN lived AS on_sim ON on_sim.trajectory_key = told.trajectory_key AND on_sim.arm = 'sim'
LEFT JOIN lived AS on_real ON on_real.trajectory_key = told.trajectory_key AND on_real.arm = 'real'
