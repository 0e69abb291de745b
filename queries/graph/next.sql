-- Which call, made from here, worked in the real world.
--
-- Here: the last calls before it, as {context} says. One row per API that followed, on either arm: how often, with
-- which outcome, and how often the run was right in the end, with Wilson's 95 % interval (1927, eq. 4) of that share;
-- `fidelity` is what is known of the calls themselves (nodes.sql), weighted by how often they were made.
-- Best lower bound first; what never ran for real comes last. Reads graph_steps and graph_nodes.
WITH followed AS (
    SELECT environment, api, outcome, arm, run_id, success, step
    FROM graph_steps
    WHERE {context}
),
counts AS (
    SELECT
        environment, api,
        count(CASE WHEN arm = 'real' THEN 1 END) AS real_count,
        count(CASE WHEN arm = 'real' AND outcome = 'ok' THEN 1 END) AS real_ok,
        count(DISTINCT CASE WHEN arm = 'real' AND success IS NOT NULL THEN run_id END) AS n,
        count(DISTINCT CASE WHEN arm = 'real' AND success THEN run_id END) AS k,
        count(CASE WHEN arm = 'sim' THEN 1 END) AS sim_count,
        count(CASE WHEN arm = 'sim' AND outcome = 'ok' THEN 1 END) AS sim_ok
    FROM followed
    GROUP BY environment, api
),
known AS (
    SELECT environment, api, exact_sum(measured * fidelity) / exact_sum(CAST(measured AS DOUBLE)) AS fidelity
    FROM graph_nodes
    WHERE fidelity IS NOT NULL AND measured > 0
    GROUP BY environment, api
),
shares AS (
    SELECT *, CASE WHEN n > 0 THEN CAST(k AS DOUBLE) / n END AS p, 1.959964 * 1.959964 AS zz FROM counts
)
SELECT
    s.environment, s.api, real_count, real_ok, n AS real_judged, k AS real_right,
    round((p + zz / (2 * n) - sqrt(zz * (p * (1 - p) + zz / (4 * n)) / n)) / (1 + zz / n), 4) AS right_low,
    round((p + zz / (2 * n) + sqrt(zz * (p * (1 - p) + zz / (4 * n)) / n)) / (1 + zz / n), 4) AS right_high,
    sim_count, sim_ok,
    round(f.fidelity, 4) AS fidelity
FROM shares AS s
LEFT JOIN known AS f ON f.environment = s.environment AND f.api = s.api
ORDER BY right_low DESC NULLS LAST, CASE WHEN real_count > 0 THEN CAST(real_ok AS DOUBLE) / real_count END DESC NULLS LAST,
         real_count DESC, s.environment, s.api
