-- Every environment: how much of it ran on both arms, how faithful it is, and what is not known.
--
-- `low_share`: of the trajectories whose fidelity f is known, those below .7 (the seed's
-- threshold, as in low_fidelity_weight.sql). `unknown_share`: of all trajectories, those
-- whose f is not known: they ran on one arm only, or nothing of them could be measured. The
-- dimensions are means over what is known of each; unknown is null, never 1 or 0.
SELECT
    t.environment,
    count(*) AS trajectories,
    count(p.trajectory_key) AS on_both_arms,
    count(p.fidelity) AS known,
    round(exact_mean(p.fidelity), 4) AS fidelity,
    round(exact_mean(p.fidelity_obs), 4) AS obs,
    round(exact_mean(p.fidelity_act), 4) AS act,
    round(exact_mean(p.fidelity_rew), 4) AS rew,
    round(exact_mean(p.fidelity_trans), 4) AS trans,
    count(CASE WHEN p.fidelity < 0.7 THEN 1 END) AS low,
    round(CAST(count(CASE WHEN p.fidelity < 0.7 THEN 1 END) AS DOUBLE) / nullif(count(p.fidelity), 0), 4) AS low_share,
    round(1 - CAST(count(p.fidelity) AS DOUBLE) / count(*), 4) AS unknown_share,
    CAST(coalesce(sum(p.pairs), 0) AS BIGINT) AS compared_calls
FROM trajectories AS t
LEFT JOIN profiles_now AS p
  ON p.trajectory_key = t.trajectory_key AND p.environment = t.environment
GROUP BY t.environment
ORDER BY t.environment
