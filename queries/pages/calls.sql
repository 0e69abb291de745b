-- The compared calls of a cell of the heat map, the widest apart first.
--
-- The gap of one call: what noise leaves of it, between nothing and everything, put together
-- as in view `pattern_features`. Parameters: environment, api, outcome ("ok", or
-- "ok -> not_found" where the arms disagree), cause; null takes all.
WITH called AS (
    SELECT
        environment, trajectory_id, turn, "index", slot, coalesce(api, '-') AS api, side, cause,
        coalesce(outcome_sim, '-') AS outcome_sim,
        coalesce(outcome_real, '-') AS outcome_real,
        CASE
            WHEN outcome_sim IS NOT DISTINCT FROM outcome_real THEN coalesce(outcome_sim, '-')
            ELSE coalesce(outcome_sim, '-') || ' -> ' || coalesce(outcome_real, '-')
        END AS outcome,
        coalesce(paths_missing, 0) + coalesce(paths_extra, 0) + coalesce(paths_type, 0)
            + coalesce(paths_value, 0) + coalesce(paths_order, 0) AS paths,
        -- Nulls are no arguments to `least`: what was not measured would become 1.
        CASE WHEN obs_raw IS NOT NULL THEN greatest(0.0, least(1.0, coalesce(obs_raw / nullif(obs_reliability, 0), 0))) END AS obs,
        CASE WHEN act_raw IS NOT NULL THEN greatest(0.0, least(1.0, coalesce(act_raw / nullif(act_reliability, 0), 0))) END AS act,
        greatest(0.0, least(1.0, coalesce(outcome_raw / nullif(outcome_reliability, 0), 0))) AS outcome_gap,
        greatest(0.0, least(1.0, coalesce(state_raw / nullif(state_reliability, 0), 0))) AS state_gap,
        greatest(0.0, least(1.0, coalesce(idempotency_raw / nullif(idempotency_reliability, 0), 0))) AS idempotency_gap,
        greatest(0.0, least(1.0, coalesce(read_after_write_raw / nullif(read_after_write_reliability, 0), 0))) AS read_after_write_gap,
        greatest(0.0, least(1.0, coalesce(latency_raw / nullif(latency_reliability, 0), 0))) AS latency_gap,
        coalesce(obs_raw, act_raw, outcome_raw, state_raw, idempotency_raw, read_after_write_raw, latency_raw)
            IS NOT NULL AS measured,
        latency_ms_sim,
        latency_ms_real
    FROM call_gaps_now
    WHERE (CAST($environment AS VARCHAR) IS NULL OR environment = $environment)
      AND (CAST($api AS VARCHAR) IS NULL OR coalesce(api, '-') = $api)
      AND (CAST($cause AS VARCHAR) IS NULL OR cause = $cause)
)
SELECT
    environment,
    trajectory_id,
    turn,
    "index",
    api,
    outcome_sim,
    outcome_real,
    cause,
    CASE WHEN measured THEN round(
        1 - (1 - coalesce(obs, 0)) * (1 - coalesce(act, 0))
          * (1 - outcome_gap) * (1 - state_gap) * (1 - 0.5 * idempotency_gap)
          * (1 - 0.5 * read_after_write_gap) * (1 - 0.1 * latency_gap), 4) END AS gap,
    round(obs, 4) AS obs,
    round(act, 4) AS act,
    CASE WHEN measured THEN round(
        1 - (1 - outcome_gap) * (1 - state_gap) * (1 - 0.5 * idempotency_gap)
          * (1 - 0.5 * read_after_write_gap) * (1 - 0.1 * latency_gap), 4) END AS trans,
    paths,
    side,
    latency_ms_sim,
    latency_ms_real
FROM called
WHERE CAST($outcome AS VARCHAR) IS NULL OR outcome = $outcome
ORDER BY gap DESC NULLS LAST, environment, trajectory_id, slot
