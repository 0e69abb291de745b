-- What can happen: every API with every outcome it had, on each arm.
--
-- `sim_right` of `sim_judged`: runs that came by and were right, of those that were judged. `fidelity`:
-- of the calls that had this outcome on sim and ran on both arms; null where none did.
-- Reads graph_steps (steps.sql).
WITH visits AS (
    SELECT environment, api, outcome, arm, run_id, success, count(*) AS times
    FROM graph_steps
    GROUP BY environment, api, outcome, arm, run_id, success
),
counts AS (
    SELECT
        environment, api, outcome,
        CAST(sum(CASE WHEN arm = 'sim' THEN times ELSE 0 END) AS BIGINT) AS sim_calls,
        CAST(sum(CASE WHEN arm = 'real' THEN times ELSE 0 END) AS BIGINT) AS real_calls,
        count(CASE WHEN arm = 'sim' AND success IS NOT NULL THEN 1 END) AS sim_judged,
        count(CASE WHEN arm = 'sim' AND success THEN 1 END) AS sim_right,
        count(CASE WHEN arm = 'real' AND success IS NOT NULL THEN 1 END) AS real_judged,
        count(CASE WHEN arm = 'real' AND success THEN 1 END) AS real_right
    FROM visits
    GROUP BY environment, api, outcome
),
gaps AS (
    SELECT
        environment, api, outcome_sim AS outcome, count(*) AS measured,
        gap_ratio(1.0, obs_raw, obs_reliability) AS obs,
        gap_ratio(1.0, act_raw, act_reliability) AS act,
        trans_gap(
            gap_ratio(1.0, outcome_raw, outcome_reliability),
            gap_ratio(1.0, state_raw, state_reliability),
            gap_ratio(1.0, idempotency_raw, idempotency_reliability),
            gap_ratio(1.0, read_after_write_raw, read_after_write_reliability),
            gap_ratio(1.0, latency_raw, latency_reliability)
        ) AS trans
    FROM call_gaps_now
    WHERE side = 'both'
    GROUP BY environment, api, outcome_sim
)
SELECT
    c.environment, c.api, c.outcome, c.sim_calls, c.real_calls, c.sim_judged, c.sim_right, c.real_judged, c.real_right,
    coalesce(g.measured, 0) AS measured,
    CASE WHEN coalesce(g.obs, g.act, g.trans) IS NOT NULL
         THEN (1 - coalesce(g.obs, 0)) * (1 - coalesce(g.act, 0)) * (1 - coalesce(g.trans, 0)) END AS fidelity
FROM counts AS c
LEFT JOIN gaps AS g ON g.environment = c.environment AND g.api = c.api AND g.outcome = c.outcome
WHERE {where}
ORDER BY c.environment, c.api, c.outcome
