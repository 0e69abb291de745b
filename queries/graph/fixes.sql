-- Failures and what mended them, on the real arm unless another is asked for.
--
-- `retried`: in one run, a call that failed and the next call of the same API that went well. `fixed_by`: a run
-- that was wrong and a run of the same task that was right; the calls where the two part, the right run being the
-- one that goes along with it longest. Newest kinds of failure have no rank: most frequent first.
-- Reads graph_steps (steps.sql); {arm}, {where}.
WITH here AS (
    SELECT s.*, r.task_id FROM graph_steps AS s JOIN runs AS r ON r.run_id = s.run_id WHERE s.arm = {arm}
),
later AS (
    SELECT f.run_id, f.step, min(g.step) AS again
    FROM here AS f
    JOIN here AS g ON g.run_id = f.run_id AND g.api = f.api
    WHERE f.outcome <> 'ok' AND g.outcome = 'ok' AND g.step > f.step
    GROUP BY f.run_id, f.step
),
retried AS (
    SELECT 'retried' AS kind, f.environment, f.task_id, f.api AS failed_api, f.outcome AS failed_outcome,
           f.arguments AS failed_arguments, g.api AS repair_api, g.outcome AS repair_outcome,
           g.arguments AS repair_arguments, g.step - f.step AS calls_between, f.run_id AS failed_run, g.run_id AS repair_run,
           f.call_key = g.call_key AS same_call
    FROM later AS l
    JOIN here AS f ON f.run_id = l.run_id AND f.step = l.step
    JOIN here AS g ON g.run_id = l.run_id AND g.step = l.again
),
parted AS (
    SELECT f.run_id AS failed_run, g.run_id AS repair_run, min(f.step) AS step
    FROM here AS f
    JOIN here AS g ON g.environment = f.environment AND g.task_id = f.task_id AND g.step = f.step
    WHERE NOT f.success AND g.success AND f.call_key <> g.call_key
    GROUP BY f.run_id, g.run_id
),
nearest AS (
    SELECT failed_run, repair_run, step FROM (
        SELECT *, row_number() OVER (PARTITION BY failed_run ORDER BY step DESC, repair_run) AS place FROM parted
    ) WHERE place = 1
),
fixed AS (
    SELECT 'fixed_by' AS kind, f.environment, f.task_id, f.api AS failed_api, f.outcome AS failed_outcome,
           f.arguments AS failed_arguments, g.api AS repair_api, g.outcome AS repair_outcome,
           g.arguments AS repair_arguments, CAST(0 AS BIGINT) AS calls_between, n.failed_run, n.repair_run,
           false AS same_call
    FROM nearest AS n
    JOIN here AS f ON f.run_id = n.failed_run AND f.step = n.step
    JOIN here AS g ON g.run_id = n.repair_run AND g.step = n.step
),
pairs AS (
    SELECT * FROM retried UNION ALL SELECT * FROM fixed
)
SELECT
    kind, c.environment, failed_api, failed_outcome, repair_api, repair_outcome,
    count(*) AS times,
    count(CASE WHEN same_call THEN 1 END) AS same_call,
    CAST(exact_mean(CAST(calls_between AS DOUBLE)) AS DOUBLE) AS calls_between,
    first_value(failed_run ORDER BY failed_run, failed_arguments) AS example_failed_run,
    first_value(failed_arguments ORDER BY failed_run, failed_arguments) AS example_failed_arguments,
    first_value(repair_run ORDER BY failed_run, failed_arguments) AS example_repair_run,
    first_value(repair_arguments ORDER BY failed_run, failed_arguments) AS example_repair_arguments
FROM pairs AS c
WHERE {where}
GROUP BY kind, c.environment, failed_api, failed_outcome, repair_api, repair_outcome
ORDER BY times DESC, kind, c.environment, failed_api, failed_outcome, repair_api, repair_outcome
