-- How far apart the arms are, by API and by how the call ended.
--
-- Each gap is one ratio of sums over the raw columns, floored once
-- (docs/measures.md, "Noise-corrected gap"): never an average of floored gaps.
-- low and high are a 95 % interval, clustered by trajectory; null below five
-- trajectories. A gap is null where nothing of that kind was measured.
--
-- `outcome` is the outcome on both arms, or "sim -> real" where they disagree;
-- "-" stands for no answer.
WITH named AS (
    SELECT
        *,
        CASE
            WHEN outcome_sim IS NOT DISTINCT FROM outcome_real THEN coalesce(outcome_sim, '-')
            ELSE coalesce(outcome_sim, '-') || ' -> ' || coalesce(outcome_real, '-')
        END AS outcome
    FROM call_gaps_now
),
cells AS (
    SELECT
        environment,
        api,
        outcome,
        gap_region_learned(
            trajectory_key, weight, obs_raw, obs_reliability, api, obs_noise_sim, obs_noise_real
        ) AS obs,
        gap_ratio(weight, act_raw, act_reliability) AS act_gap,
        trans_gap(
            gap_ratio(weight, outcome_raw, outcome_reliability),
            gap_ratio(weight, state_raw, state_reliability),
            gap_ratio(weight, idempotency_raw, idempotency_reliability),
            gap_ratio(weight, read_after_write_raw, read_after_write_reliability),
            gap_ratio(weight, latency_raw, latency_reliability)
        ) AS trans_gap,
        count(*) AS calls,
        count(DISTINCT trajectory_key) AS trajectories
    FROM named
    GROUP BY environment, api, outcome
)
SELECT
    environment,
    api,
    outcome,
    round(obs['gap'], 4) AS obs_gap,
    round(obs['low'], 4) AS obs_low,
    round(obs['high'], 4) AS obs_high,
    round(act_gap, 4) AS act_gap,
    round(trans_gap, 4) AS trans_gap,
    calls,
    trajectories
FROM cells
ORDER BY greatest(coalesce(obs['gap'], 0), coalesce(act_gap, 0), coalesce(trans_gap, 0)) DESC,
         calls DESC, environment, api, outcome
