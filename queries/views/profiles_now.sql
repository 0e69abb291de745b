-- The newest profile of every trajectory, with standard errors.
--
-- The standard error of a trajectory is half the root mean, over the
-- trajectories of its environment that have repeats on both arms, of
-- (first runs' distance - second runs' distance)^2. Without repeats anywhere in
-- the environment it is unknown (null), never 0.
WITH newest AS (
    SELECT p.*
    FROM profiles AS p
    LEFT ANTI JOIN profiles AS later
      ON later.environment = p.environment
     AND later.trajectory_id = p.trajectory_id
     AND later.generation > p.generation
),
noise AS (
    SELECT
        environment,
        sqrt(exact_mean(power(obs_00 - obs_11, 2))) / 2 AS se_obs,
        sqrt(exact_mean(power(act_00 - act_11, 2))) / 2 AS se_act,
        sqrt(exact_mean(power(rew_00 - rew_11, 2))) / 2 AS se_rew,
        sqrt(exact_mean(power(trans_00 - trans_11, 2))) / 2 AS se_trans,
        sqrt(exact_mean(power(
            (1 - coalesce(obs_00, 0)) * (1 - coalesce(act_00, 0)) * (1 - coalesce(rew_00, 0)) * (1 - coalesce(trans_00, 0))
          - (1 - coalesce(obs_11, 0)) * (1 - coalesce(act_11, 0)) * (1 - coalesce(rew_11, 0)) * (1 - coalesce(trans_11, 0)),
            2))) / 2 AS se
    FROM newest
    WHERE coalesce(obs_11, act_11, rew_11, trans_11) IS NOT NULL
    GROUP BY environment
)
SELECT
    newest.*,
    -- What the gate uses: one total failure must not hide among four.
    CASE WHEN dimensions_known > 0 THEN
        (1 - coalesce(gap_decision, 0)) * (1 - coalesce(run_obs, 0)) * (1 - coalesce(run_act, 0))
      * (1 - coalesce(run_rew, 0)) * (1 - coalesce(delta_trans, 0))
    END AS fidelity,
    se_obs AS fidelity_obs_se,
    se_act AS fidelity_act_se,
    se_rew AS fidelity_rew_se,
    se_trans AS fidelity_trans_se,
    se AS fidelity_se
FROM newest
LEFT JOIN noise ON noise.environment = newest.environment
