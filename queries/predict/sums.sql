-- What is known of each region (environment x API x outcome in sim) from calls that ran
-- on both arms, by tenth of the tasks: a task's own calls can then be left out.
-- Calls that an earlier divergence explains say nothing of their region.
WITH tasks AS (
    SELECT environment, trajectory_id, coalesce(min(task_id), trajectory_id) AS task
    FROM runs
    GROUP BY environment, trajectory_id
)
SELECT
    g.environment,
    g.api,
    coalesce(g.outcome_sim, '') AS outcome,
    abs(hash64(concat(g.environment, '/', t.task))) % 10 AS fold,
    count(*) AS calls,
    exact_sum(g.obs_raw) AS obs_raw,
    exact_sum(g.obs_reliability) AS obs_reliability,
    exact_sum(g.act_raw) AS act_raw,
    exact_sum(g.act_reliability) AS act_reliability,
    exact_sum(g.outcome_raw) AS outcome_raw,
    exact_sum(g.outcome_reliability) AS outcome_reliability,
    exact_sum(g.state_raw) AS state_raw,
    exact_sum(g.state_reliability) AS state_reliability,
    exact_sum(g.idempotency_raw) AS idempotency_raw,
    exact_sum(g.idempotency_reliability) AS idempotency_reliability,
    exact_sum(g.read_after_write_raw) AS read_after_write_raw,
    exact_sum(g.read_after_write_reliability) AS read_after_write_reliability,
    exact_sum(g.latency_raw) AS latency_raw,
    exact_sum(g.latency_reliability) AS latency_reliability
FROM call_gaps_now AS g
JOIN tasks AS t ON t.environment = g.environment AND t.trajectory_id = g.trajectory_id
WHERE g.cause <> 'state' AND g.side <> 'real_only' AND g.api IS NOT NULL
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4  -- sums of regions are added up in this order
