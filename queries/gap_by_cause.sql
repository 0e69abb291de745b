-- How much of the gap starts where, and how much only follows.
--
-- `structural`: the worlds are built differently there. `state`: an earlier
-- divergence explains it. `flaky`: an arm disagrees with itself as much as with the
-- other. The gap of a call is what is lost of it in any way: answer, acceptance,
-- outcome or state, before answers are corrected for noise; `share` is its part of the whole.
WITH calls AS (
    SELECT
        environment, cause, api, trajectory_key, weight,
        1 - (1 - coalesce(obs_distance, 0))
          * (1 - greatest(coalesce(act_raw, 0), 0))
          * (1 - greatest(coalesce(outcome_raw, 0), 0))
          * (1 - greatest(coalesce(state_raw, 0), 0)) AS gap
    FROM call_gaps_now
    WHERE cause <> 'none'
),
total AS (
    SELECT environment, exact_sum(weight * gap) AS gap FROM calls GROUP BY environment
)
SELECT
    calls.environment,
    calls.cause,
    calls.api,
    count(*) AS calls,
    count(DISTINCT calls.trajectory_key) AS trajectories,
    round(exact_mean(calls.gap), 4) AS mean_gap,
    round(exact_sum(calls.weight * calls.gap) / max(total.gap), 4) AS share
FROM calls
JOIN total ON total.environment = calls.environment
GROUP BY calls.environment, calls.cause, calls.api
ORDER BY calls.environment, share DESC, calls.cause, calls.api
