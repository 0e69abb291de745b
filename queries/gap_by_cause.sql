-- How much of the gap starts where, and how much only follows.
--
-- `structural`: the worlds are built differently there. `state`: an earlier
-- divergence explains it. `flaky`: an arm disagrees with itself as much as with the
-- other; nothing of it is left once noise is taken off. The gap of a cell puts
-- together what its answers, acceptance and transitions lost; `share` is its part of
-- the environment's gap, calls weighing as in their trajectories.
WITH cells AS (
    SELECT
        environment, cause, api,
        count(*) AS calls,
        count(DISTINCT trajectory_key) AS trajectories,
        exact_sum(weight) AS weight,
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
    WHERE cause <> 'none'
    GROUP BY environment, cause, api
),
gaps AS (
    SELECT *, 1 - (1 - coalesce(obs, 0)) * (1 - coalesce(act, 0)) * (1 - coalesce(trans, 0)) AS gap
    FROM cells
),
total AS (
    SELECT environment, exact_sum(weight * gap) AS gap FROM gaps GROUP BY environment
)
SELECT
    gaps.environment,
    gaps.cause,
    gaps.api,
    calls,
    trajectories,
    round(obs, 4) AS obs_gap,
    round(act, 4) AS act_gap,
    round(trans, 4) AS trans_gap,
    round(gaps.gap, 4) AS gap,
    round(weight * gaps.gap / nullif(total.gap, 0), 4) AS share
FROM gaps
JOIN total ON total.environment = gaps.environment
ORDER BY gaps.environment, share DESC NULLS LAST, gaps.cause, gaps.api
