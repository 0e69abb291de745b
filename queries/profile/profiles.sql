-- One row per trajectory: its gap along the dimensions, from its roots.
-- Reads: $generation, pending_range, range_verdicts, gaps (the rows of call_gaps.sql),
-- decisions and surfaces (the rows of decisions.sql and surfaces.sql).
WITH along AS (
    SELECT
        trajectory_key,
        CAST(count(*) AS INT) AS calls,
        CAST(count(*) FILTER (WHERE side = 'both') AS INT) AS pairs,
        CASE WHEN count(noise) = 0 THEN NULL
             WHEN count(*) FILTER (WHERE noise <> 'measured') = 0 THEN 'measured'
             WHEN count(*) FILTER (WHERE noise = 'unknown') = 0 THEN 'learned'
             ELSE 'unknown' END AS noise,
        profile_of(
            turn, cause, obs_raw, obs_reliability, act_raw, act_reliability,
            outcome_raw, outcome_reliability, state_raw, state_reliability,
            idempotency_raw, idempotency_reliability, read_after_write_raw, read_after_write_reliability,
            latency_raw, latency_reliability
        ) AS gap,
        behavior_gap(turn, obs_distance) AS delta_beh
    FROM gaps
    GROUP BY trajectory_key
),
-- The raw distances of two independent pairs of runs, for the standard error.
halves AS (
    SELECT
        trajectory_key,
        gap_ratio(weight, obs_00, 1.0) AS obs_00,
        gap_ratio(weight, obs_11, 1.0) AS obs_11,
        gap_ratio(weight, act_00, 1.0) AS act_00,
        gap_ratio(weight, act_11, 1.0) AS act_11,
        trans_gap(
            gap_ratio(weight, outcome_00, 1.0),
            gap_ratio(weight, state_00, 1.0),
            gap_ratio(weight, idempotency_00, 1.0),
            gap_ratio(weight, read_after_write_00, 1.0),
            gap_ratio(weight, latency_00, 1.0)
        ) AS trans_00,
        trans_gap(
            gap_ratio(weight, outcome_11, 1.0),
            gap_ratio(weight, state_11, 1.0),
            gap_ratio(weight, idempotency_11, 1.0),
            gap_ratio(weight, read_after_write_11, 1.0),
            gap_ratio(weight, latency_11, 1.0)
        ) AS trans_11
    FROM gaps
    GROUP BY trajectory_key
),
judged AS (
    SELECT v.trajectory_key, v.arm, v.repeat, v.judge, v.agent, v.reward, v.success, v.criteria,
           p.sim_0, p.sim_1, p.real_0, p.real_1
    FROM range_verdicts AS v
    JOIN pending_range AS p ON p.trajectory_key = v.trajectory_key
),
-- Several judges may have seen each run; each agent is judged for itself.
verdict AS (
    SELECT
        trajectory_key,
        verdicts_gap(arm, repeat, concat_ws('/', judge, agent), reward, success, criteria, sim_0, sim_1, real_0, real_1) AS gap
    FROM judged
    GROUP BY trajectory_key
),
rewards AS (
    SELECT
        trajectory_key,
        CASE WHEN gap['reliability'] >= 0.2 THEN greatest(0.0, least(1.0, gap['raw'] / gap['reliability'])) END AS run_rew,
        gap['raw'] AS rew_raw,
        gap['reliability'] AS rew_reliability,
        gap['distance_00'] AS rew_00,
        gap['distance_11'] AS rew_11
    FROM verdict
),
means AS (
    SELECT
        trajectory_key,
        exact_mean(CASE WHEN arm = 'sim' THEN reward END) AS reward_sim,
        exact_mean(CASE WHEN arm = 'real' THEN reward END) AS reward_real
    FROM judged
    GROUP BY trajectory_key
),
-- What was told and offered: the Shapley parts of the decision gap. What happened in
-- the runs: run_obs, run_act, run_rew.
parts AS (
    SELECT
        p.*,
        coalesce(along.calls, 0) AS aligned,
        coalesce(along.pairs, 0) AS pairs,
        along.noise,
        along.gap['obs'] AS run_obs,
        along.gap['act'] AS run_act,
        rewards.run_rew,
        along.gap['trans'] AS delta_trans,
        along.gap['all_obs'] AS all_obs,
        along.gap['all_trans'] AS all_trans,
        along.delta_beh,
        along.gap['trans_parts'] AS trans_parts,
        decisions.decision,
        CASE WHEN decisions.decision['obs'] IS NOT NULL THEN greatest(decisions.decision['obs'], 0.0) END AS told_obs,
        CASE WHEN decisions.decision['act'] IS NOT NULL THEN greatest(decisions.decision['act'], 0.0) END AS told_act,
        CASE WHEN decisions.decision['rew'] IS NOT NULL THEN greatest(decisions.decision['rew'], 0.0) END AS told_rew
    FROM pending_range AS p
    LEFT JOIN along ON along.trajectory_key = p.trajectory_key
    LEFT JOIN rewards ON rewards.trajectory_key = p.trajectory_key
    LEFT JOIN decisions ON decisions.trajectory_key = p.trajectory_key
),
deltas AS (
    SELECT
        *,
        CASE WHEN told_obs IS NULL THEN run_obs WHEN run_obs IS NULL THEN told_obs
             ELSE 1 - (1 - told_obs) * (1 - run_obs) END AS delta_obs,
        CASE WHEN told_act IS NULL THEN run_act WHEN run_act IS NULL THEN told_act
             ELSE 1 - (1 - told_act) * (1 - run_act) END AS delta_act,
        CASE WHEN told_rew IS NULL THEN run_rew WHEN run_rew IS NULL THEN told_rew
             ELSE 1 - (1 - told_rew) * (1 - run_rew) END AS delta_rew
    FROM parts
)
SELECT
    d.environment,
    d.trajectory_id,
    d.trajectory_key,
    $generation AS generation,
    d.inputs,
    'measured' AS source,
    d.sim_runs,
    d.real_runs,
    CAST(d.aligned AS INT) AS calls,
    CAST(d.pairs AS INT) AS pairs,
    d.noise,
    d.run_obs,
    d.run_act,
    d.run_rew,
    rewards.rew_raw,
    rewards.rew_reliability,
    d.delta_obs,
    d.delta_act,
    d.delta_rew,
    d.delta_trans,
    nullif(concat_ws(',', CASE WHEN d.told_obs IS NOT NULL THEN 'told' END, CASE WHEN d.run_obs IS NOT NULL THEN 'run' END), '') AS obs_parts,
    nullif(concat_ws(',', CASE WHEN d.told_act IS NOT NULL THEN 'told' END, CASE WHEN d.run_act IS NOT NULL THEN 'run' END), '') AS act_parts,
    nullif(concat_ws(',', CASE WHEN d.told_rew IS NOT NULL THEN 'told' END, CASE WHEN d.run_rew IS NOT NULL THEN 'run' END), '') AS rew_parts,
    d.trans_parts,
    1 - d.delta_obs AS fidelity_obs,
    1 - d.delta_act AS fidelity_act,
    1 - d.delta_rew AS fidelity_rew,
    1 - d.delta_trans AS fidelity_trans,
    CASE WHEN coalesce(d.delta_obs, d.delta_act, d.delta_rew, d.delta_trans) IS NOT NULL THEN
        (coalesce(1 - d.delta_obs, 0) + coalesce(1 - d.delta_act, 0) + coalesce(1 - d.delta_rew, 0) + coalesce(1 - d.delta_trans, 0))
      / (CASE WHEN d.delta_obs IS NULL THEN 0 ELSE 1 END + CASE WHEN d.delta_act IS NULL THEN 0 ELSE 1 END
       + CASE WHEN d.delta_rew IS NULL THEN 0 ELSE 1 END + CASE WHEN d.delta_trans IS NULL THEN 0 ELSE 1 END)
    END AS fidelity_mean,
    CAST(CASE WHEN d.delta_obs IS NULL THEN 0 ELSE 1 END + CASE WHEN d.delta_act IS NULL THEN 0 ELSE 1 END
       + CASE WHEN d.delta_rew IS NULL THEN 0 ELSE 1 END + CASE WHEN d.delta_trans IS NULL THEN 0 ELSE 1 END AS INT) AS dimensions_known,
    d.all_obs,
    d.all_trans,
    d.delta_beh,
    surfaces.surface['obs'] AS surface_obs,
    surfaces.surface['act'] AS surface_act,
    surfaces.surface['rew'] AS surface_rew,
    d.decision['source'] AS gold_source,
    CASE WHEN d.decision['signed'] IS NOT NULL THEN greatest(0.0, least(1.0, d.decision['signed'])) END AS gap_decision,
    d.decision['signed'] AS decision_signed,
    d.decision['sim'] AS decision_sim,
    d.decision['real'] AS decision_real,
    d.decision['obs'] AS decision_obs,
    d.decision['act'] AS decision_act,
    d.decision['rew'] AS decision_rew,
    d.decision['all_calls'] AS decision_all_calls,
    d.decision['right_calls'] AS decision_calls,
    d.decision['flow'] AS decision_flow,
    d.decision['pick_shift'] AS pick_shift,
    d.decision['task'] AS surface_task,
    surfaces.surface['added'] AS tools_added,
    surfaces.surface['removed'] AS tools_removed,
    surfaces.surface['renamed'] AS tools_renamed,
    surfaces.surface['changed'] AS tools_changed,
    means.reward_sim,
    means.reward_real,
    halves.obs_00,
    halves.obs_11,
    halves.trans_00,
    halves.trans_11,
    halves.act_00,
    halves.act_11,
    rewards.rew_00,
    rewards.rew_11
FROM deltas AS d
LEFT JOIN rewards ON rewards.trajectory_key = d.trajectory_key
LEFT JOIN halves ON halves.trajectory_key = d.trajectory_key
LEFT JOIN means ON means.trajectory_key = d.trajectory_key
LEFT JOIN surfaces ON surfaces.trajectory_key = d.trajectory_key
ORDER BY d.trajectory_key
