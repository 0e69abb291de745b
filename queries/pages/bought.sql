-- What was bought: the calls that `fidelake dual run` counted, by plan and arm.
--
-- `budgeted` counts against a budget of real calls; `in_doubt` were sent, and nobody knows
-- what became of them; `not_sent` were counted and surely never left.
SELECT
    plan_id,
    environment,
    arm,
    count(*) AS calls,
    count(CASE WHEN budgeted THEN 1 END) AS budgeted,
    count(CASE WHEN status = 'answered' THEN 1 END) AS answered,
    count(CASE WHEN status = 'in_doubt' THEN 1 END) AS in_doubt,
    count(CASE WHEN status = 'not_sent' THEN 1 END) AS not_sent,
    count(DISTINCT trajectory_key) AS trajectories,
    count(DISTINCT name) AS tools,
    round(median(latency_ms), 2) AS median_latency_ms,
    min(sent_at) AS first_sent,
    max(sent_at) AS last_sent
FROM ledger
GROUP BY plan_id, environment, arm
ORDER BY max(sent_at) DESC, plan_id, environment, arm
