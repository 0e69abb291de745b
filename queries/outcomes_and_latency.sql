-- How differently the arms end their calls, and how long they take, by API.
--
-- Distributions of single runs: divergence of outcomes from 0 to 1 (Jensen-Shannon,
-- base 2), mean shift of latencies in milliseconds (Wasserstein-1). Null below 20
-- calls of an arm, where they read high on identical worlds.
SELECT
    c.environment,
    c.name AS api,
    count(*) FILTER (WHERE c.arm = 'sim') AS sim_calls,
    count(*) FILTER (WHERE c.arm = 'real') AS real_calls,
    round(js_divergence(c.arm, o.outcome), 4) AS outcome_divergence,
    round(wasserstein(c.arm, o.latency_ms), 3) AS latency_shift_ms,
    round(median(CASE WHEN c.arm = 'sim' THEN o.latency_ms END), 3) AS sim_median_ms,
    round(median(CASE WHEN c.arm = 'real' THEN o.latency_ms END), 3) AS real_median_ms
FROM calls AS c
JOIN observations AS o
  ON o.trajectory_key = c.trajectory_key AND o.arm = c.arm AND o.repeat = c.repeat
 AND o.turn = c.turn AND o.index = c.index
GROUP BY c.environment, c.name
ORDER BY outcome_divergence DESC NULLS LAST, latency_shift_ms DESC NULLS LAST, c.environment, api
