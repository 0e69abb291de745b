-- The gap of every API by how its calls ended.
--
-- Each gap is one ratio of sums over the raw columns, floored once, as in
-- gap_by_api_and_outcome.sql, which has intervals beside it. `gap` puts the three of a call
-- together: 1 - (1 - obs)(1 - act)(1 - trans). `outcome` is the outcome on both arms, or
-- "sim -> real" where they disagree; "-" stands for no answer. `amount` is the gap times the
-- weight of the measured calls: what the cell has of the whole.
WITH cells AS (
    SELECT
        environment,
        coalesce(api, '-') AS api,
        CASE
            WHEN outcome_sim IS NOT DISTINCT FROM outcome_real THEN coalesce(outcome_sim, '-')
            ELSE coalesce(outcome_sim, '-') || ' -> ' || coalesce(outcome_real, '-')
        END AS outcome,
        count(*) AS calls,
        count(CASE WHEN cause = 'structural' THEN 1 END) AS roots,
        count(DISTINCT trajectory_key) AS trajectories,
        exact_sum(CASE WHEN coalesce(obs_raw, act_raw, outcome_raw, state_raw, idempotency_raw,
                                     read_after_write_raw, latency_raw) IS NOT NULL THEN weight END) AS weight,
        gap_ratio(weight, obs_raw, obs_reliability) AS obs,
        gap_ratio(weight, act_raw, act_reliability) AS act,
        trans_gap(
            gap_ratio(weight, outcome_raw, outcome_reliability),
            gap_ratio(weight, state_raw, state_reliability),
            gap_ratio(weight, idempotency_raw, idempotency_reliability),
            gap_ratio(weight, read_after_write_raw, read_after_write_reliability),
            gap_ratio(weight, latency_raw, latency_reliability)
        ) AS trans
    FROM call_gaps_now
    WHERE CAST($environment AS VARCHAR) IS NULL OR environment = $environment
    GROUP BY 1, 2, 3
),
gaps AS (
    SELECT
        *,
        CASE WHEN coalesce(obs, act, trans) IS NOT NULL
            THEN 1 - (1 - coalesce(obs, 0)) * (1 - coalesce(act, 0)) * (1 - coalesce(trans, 0))
        END AS gap
    FROM cells
)
SELECT
    environment,
    api,
    outcome,
    round(gap, 4) AS gap,
    round(obs, 4) AS obs,
    round(act, 4) AS act,
    round(trans, 4) AS trans,
    calls,
    roots,
    trajectories,
    round(gap * weight, 4) AS amount
FROM gaps
ORDER BY environment, api, outcome
