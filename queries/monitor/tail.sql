-- What was profiled after lake version $1, as observations of the monitor: one row per call, and one
-- per trajectory for its reward. A gap is unknown where the noise leaves too little to see
-- (docs/measures.md, "Noise-corrected gap": below a reliability of .2).
WITH calls AS (
    SELECT
        environment, trajectory_id, slot, generation,
        api, coalesce(outcome_sim, '-') AS outcome,
        CASE WHEN obs_reliability >= 0.2 THEN greatest(0.0, least(1.0, obs_raw / obs_reliability)) END AS obs,
        CASE WHEN act_reliability >= 0.2 THEN greatest(0.0, least(1.0, act_raw / act_reliability)) END AS act,
        CASE WHEN outcome_reliability >= 0.2 THEN greatest(0.0, least(1.0, outcome_raw / outcome_reliability)) END AS o,
        CASE WHEN state_reliability >= 0.2 THEN greatest(0.0, least(1.0, state_raw / state_reliability)) END AS s,
        CASE WHEN idempotency_reliability >= 0.2 THEN greatest(0.0, least(1.0, idempotency_raw / idempotency_reliability)) END AS i,
        CASE WHEN read_after_write_reliability >= 0.2 THEN greatest(0.0, least(1.0, read_after_write_raw / read_after_write_reliability)) END AS r,
        CASE WHEN latency_reliability >= 0.2 THEN greatest(0.0, least(1.0, latency_raw / latency_reliability)) END AS l
    FROM call_gaps_now
    WHERE generation > $1 AND side = 'both' AND api IS NOT NULL
)
SELECT
    environment, trajectory_id, slot, generation, api, outcome, obs, act, CAST(NULL AS DOUBLE) AS rew,
    CASE WHEN coalesce(o, s, i, r, l) IS NOT NULL THEN
        1.0 - (1.0 - coalesce(o, 0.0)) * (1.0 - coalesce(s, 0.0)) * (1.0 - 0.5 * coalesce(i, 0.0))
            * (1.0 - 0.5 * coalesce(r, 0.0)) * (1.0 - 0.1 * coalesce(l, 0.0))
    END AS trans
FROM calls
UNION ALL
SELECT
    environment, trajectory_id, -1 AS slot, generation, '(trajectory)' AS api, '-' AS outcome,
    CAST(NULL AS DOUBLE) AS obs, CAST(NULL AS DOUBLE) AS act,
    greatest(0.0, least(1.0, rew_raw / rew_reliability)) AS rew,
    CAST(NULL AS DOUBLE) AS trans
FROM profiles_now
WHERE generation > $1 AND rew_reliability >= 0.2 AND rew_raw IS NOT NULL
ORDER BY generation, environment, trajectory_id, slot
