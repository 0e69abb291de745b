-- One row per call of the trajectories in a range: all runs of it side by side.
-- Payloads are joined within the range only, and never leave `compare_runs`.
-- Reads: $generation, pending_range, range_calls, range_observations, decisions.
-- The columns that end in _00 and _11 (first and second runs) are for profiles.sql;
-- `evidence` is for evidence.sql.
WITH answered AS (
    SELECT
        p.environment, p.trajectory_id, p.inputs, p.sim_0, p.sim_1, p.real_0, p.real_1,
        c.trajectory_key, c.arm, c.repeat, c.turn, c.index, c.name, c.call_key, c.arguments_raw,
        o.structured, o.content, o.structured_rule, o.truncated, o.outcome, o.state,
        CASE WHEN p.states_comparable THEN o.state_hash END AS state_hash,
        o.latency_ms
    FROM range_calls AS c
    JOIN pending_range AS p ON p.trajectory_key = c.trajectory_key
    LEFT JOIN range_observations AS o
      ON o.trajectory_key = c.trajectory_key
     AND o.arm = c.arm
     AND o.repeat = c.repeat
     AND o.turn = c.turn
     AND o.index = c.index
),
compared AS (
    SELECT
        environment, trajectory_id, trajectory_key, inputs,
        unnest(compare_runs(
            environment, trajectory_key, arm, repeat, turn, index, name, call_key, arguments_raw,
            structured, content, structured_rule, truncated, outcome, state, state_hash, latency_ms,
            sim_0, sim_1, real_0, real_1
        )) AS call
    FROM answered
    GROUP BY environment, trajectory_id, trajectory_key, inputs
),
decided AS (
    SELECT trajectory_key, own['turn'] AS turn, own['index'] AS index, own['name'] AS name, own
    FROM (SELECT trajectory_key, unnest(decision['calls']) AS own FROM decisions)
)
SELECT
    environment,
    trajectory_id,
    compared.trajectory_key,
    call['slot'] AS slot,
    call['turn'] AS turn,
    call['index'] AS index,
    $generation AS generation,
    inputs,
    call['api'] AS api,
    call['side'] AS side,
    call['sim_runs'] AS sim_runs,
    call['real_runs'] AS real_runs,
    call['outcome_sim'] AS outcome_sim,
    call['outcome_real'] AS outcome_real,
    call['weight'] AS weight,
    call['cause'] AS cause,
    call['noise'] AS noise,
    call['obs_distance'] AS obs_distance,
    call['obs_raw'] AS obs_raw,
    call['obs_reliability'] AS obs_reliability,
    call['obs_mass'] AS obs_mass,
    call['obs_structure'] AS obs_structure,
    call['obs_value'] AS obs_value,
    call['obs_confidence'] AS obs_confidence,
    call['paths_missing'] AS paths_missing,
    call['paths_extra'] AS paths_extra,
    call['paths_type'] AS paths_type,
    call['paths_value'] AS paths_value,
    call['paths_order'] AS paths_order,
    call['paths_cosmetic'] AS paths_cosmetic,
    call['act_raw'] AS act_raw,
    call['act_reliability'] AS act_reliability,
    call['outcome_raw'] AS outcome_raw,
    call['outcome_reliability'] AS outcome_reliability,
    call['state_raw'] AS state_raw,
    call['state_reliability'] AS state_reliability,
    call['idempotency_raw'] AS idempotency_raw,
    call['idempotency_reliability'] AS idempotency_reliability,
    call['read_after_write_raw'] AS read_after_write_raw,
    call['read_after_write_reliability'] AS read_after_write_reliability,
    call['latency_raw'] AS latency_raw,
    call['latency_reliability'] AS latency_reliability,
    call['latency_ms_sim'] AS latency_ms_sim,
    call['latency_ms_real'] AS latency_ms_real,
    call['obs_noise_sim'] AS obs_noise_sim,
    call['obs_noise_real'] AS obs_noise_real,
    call['act_noise_sim'] AS act_noise_sim,
    call['act_noise_real'] AS act_noise_real,
    call['outcome_noise_sim'] AS outcome_noise_sim,
    call['outcome_noise_real'] AS outcome_noise_real,
    call['state_noise_sim'] AS state_noise_sim,
    call['state_noise_real'] AS state_noise_real,
    call['idempotency_noise_sim'] AS idempotency_noise_sim,
    call['idempotency_noise_real'] AS idempotency_noise_real,
    call['read_after_write_noise_sim'] AS read_after_write_noise_sim,
    call['read_after_write_noise_real'] AS read_after_write_noise_real,
    call['latency_noise_sim'] AS latency_noise_sim,
    call['latency_noise_real'] AS latency_noise_real,
    call['visible_after_sim'] AS visible_after_sim,
    call['visible_after_real'] AS visible_after_real,
    own['pick_sim'] * own['ground_sim'] - own['pick_real'] * own['ground_real'] AS decision,
    own['pick_sim'] AS pick_sim,
    own['pick_real'] AS pick_real,
    own['ground_sim'] AS ground_sim,
    own['ground_real'] AS ground_real,
    call['path_ids'] AS path_ids,
    call['path_weights'] AS path_weights,
    call['obs_00'] AS obs_00,
    call['obs_11'] AS obs_11,
    call['act_00'] AS act_00,
    call['act_11'] AS act_11,
    call['outcome_00'] AS outcome_00,
    call['outcome_11'] AS outcome_11,
    call['state_00'] AS state_00,
    call['state_11'] AS state_11,
    call['idempotency_00'] AS idempotency_00,
    call['idempotency_11'] AS idempotency_11,
    call['read_after_write_00'] AS read_after_write_00,
    call['read_after_write_11'] AS read_after_write_11,
    call['latency_00'] AS latency_00,
    call['latency_11'] AS latency_11,
    call['evidence'] AS evidence
FROM compared
LEFT JOIN decided
  ON decided.trajectory_key = compared.trajectory_key
 AND decided.turn = call['turn']
 AND decided.index = call['index']
 AND decided.name = call['api']
ORDER BY compared.trajectory_key, slot
