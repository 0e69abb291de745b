-- One row per slot: the noise-corrected parts, and the cause of a divergence.
-- Reads: $generation, pending_range, slots, pairs.
WITH heads AS (
    SELECT
        trajectory_key,
        slot,
        first_value(turn ORDER BY run_order) AS turn,
        first_value(index ORDER BY run_order) AS index,
        first_value(api ORDER BY run_order) AS api,
        count(*) FILTER (WHERE arm = 'sim') AS sim_runs,
        count(*) FILTER (WHERE arm = 'real') AS real_runs,
        exact_mean(CASE WHEN arm = 'sim' THEN latency_ms END) AS latency_ms_sim,
        exact_mean(CASE WHEN arm = 'real' THEN latency_ms END) AS latency_ms_real
    FROM slots
    GROUP BY trajectory_key, slot
),
ends AS (
    SELECT trajectory_key, max(turn) AS last_turn FROM heads GROUP BY trajectory_key
),
parts AS (
    SELECT
        trajectory_key,
        slot,
        noise_corrected(pair, answer['gap']) AS obs,
        noise_corrected(pair, acceptance) AS act,
        noise_corrected(pair, outcome) AS outcome,
        noise_corrected(pair, state) AS state,
        noise_corrected(pair, latency) AS latency,
        exact_mean(CASE WHEN pair = 'sr' THEN answer['mass'] END) AS obs_mass,
        exact_mean(CASE WHEN pair = 'sr' THEN answer['structure'] END) AS obs_structure,
        exact_mean(CASE WHEN pair = 'sr' THEN answer['value'] END) AS obs_value,
        exact_mean(CASE WHEN pair = 'sr' THEN answer['confidence'] END) AS obs_confidence,
        max(CASE WHEN pair_00 THEN answer['missing'] END) AS paths_missing,
        max(CASE WHEN pair_00 THEN answer['extra'] END) AS paths_extra,
        max(CASE WHEN pair_00 THEN answer['type'] END) AS paths_type,
        max(CASE WHEN pair_00 THEN answer['values'] END) AS paths_value,
        max(CASE WHEN pair_00 THEN answer['order'] END) AS paths_order,
        max(CASE WHEN pair_00 THEN answer['cosmetic'] END) AS paths_cosmetic
    FROM pairs
    GROUP BY trajectory_key, slot
),
-- The first run of each arm, side by side.
sim AS (SELECT * FROM slots WHERE arm = 'sim' AND repeat = sim_0),
real AS (SELECT * FROM slots WHERE arm = 'real' AND repeat = real_0),
sides AS (
    SELECT
        coalesce(sim.trajectory_key, real.trajectory_key) AS trajectory_key,
        coalesce(sim.slot, real.slot) AS slot,
        coalesce(sim.api, real.api) AS api,
        coalesce(sim.arguments, real.arguments) AS arguments,
        sim.outcome AS outcome_sim,
        real.outcome AS outcome_real,
        sim.structured AS structured_sim,
        sim.content AS content_sim,
        sim.structured_rule AS rule_sim,
        coalesce(sim.truncated, false) AS truncated_sim,
        real.structured AS structured_real,
        real.content AS content_real,
        real.structured_rule AS rule_real,
        coalesce(real.truncated, false) AS truncated_real
    FROM sim
    FULL JOIN real ON real.trajectory_key = sim.trajectory_key AND real.slot = sim.slot
),
explained AS (
    SELECT
        sides.trajectory_key,
        unnest(call_causes(
            sides.slot, api, arguments,
            structured_sim, content_sim, rule_sim, truncated_sim, outcome_sim,
            structured_real, content_real, rule_real, truncated_real, outcome_real,
            parts.obs['distance'],
            parts.state['distance'],
            -- Nothing is left of the difference once the arms' own noise is taken off.
            coalesce(parts.obs['distance'] > 0 AND parts.obs['raw'] <= 0, false)
              OR coalesce(parts.outcome['distance'] > 0 AND parts.outcome['raw'] <= 0, false)
        )) AS found
    FROM sides
    LEFT JOIN parts ON parts.trajectory_key = sides.trajectory_key AND parts.slot = sides.slot
    GROUP BY sides.trajectory_key
),
causes AS (
    SELECT trajectory_key, found['slot'] AS slot, found['cause'] AS cause FROM explained
)
SELECT
    p.environment,
    p.trajectory_id,
    p.trajectory_key,
    heads.slot,
    heads.turn,
    heads.index,
    $generation AS generation,
    p.inputs,
    heads.api,
    CASE WHEN heads.real_runs = 0 THEN 'sim_only' WHEN heads.sim_runs = 0 THEN 'real_only' ELSE 'both' END AS side,
    CAST(heads.sim_runs AS INT) AS sim_runs,
    CAST(heads.real_runs AS INT) AS real_runs,
    sides.outcome_sim,
    sides.outcome_real,
    power(0.95, ends.last_turn - heads.turn) AS weight,
    coalesce(causes.cause, 'none') AS cause,
    coalesce(parts.obs['noise'], parts.outcome['noise']) AS noise,
    parts.obs['distance'] AS obs_distance,
    parts.obs['raw'] AS obs_raw,
    parts.obs['reliability'] AS obs_reliability,
    obs_mass,
    obs_structure,
    obs_value,
    obs_confidence,
    paths_missing,
    paths_extra,
    paths_type,
    paths_value,
    paths_order,
    paths_cosmetic,
    parts.act['raw'] AS act_raw,
    parts.act['reliability'] AS act_reliability,
    parts.outcome['raw'] AS outcome_raw,
    parts.outcome['reliability'] AS outcome_reliability,
    parts.state['raw'] AS state_raw,
    parts.state['reliability'] AS state_reliability,
    parts.latency['raw'] AS latency_raw,
    parts.latency['reliability'] AS latency_reliability,
    heads.latency_ms_sim,
    heads.latency_ms_real
FROM heads
JOIN pending_range AS p ON p.trajectory_key = heads.trajectory_key
JOIN ends ON ends.trajectory_key = heads.trajectory_key
LEFT JOIN parts ON parts.trajectory_key = heads.trajectory_key AND parts.slot = heads.slot
LEFT JOIN sides ON sides.trajectory_key = heads.trajectory_key AND sides.slot = heads.slot
LEFT JOIN causes ON causes.trajectory_key = heads.trajectory_key AND causes.slot = heads.slot
ORDER BY p.trajectory_key, heads.slot
