-- How fidelity is spread over the trajectories of each environment.
--
-- One row per environment and dimension: known and unknown profiles, the mean,
-- the quartiles, and how many lie below .7 (the seed's threshold). A dimension
-- that is unknown is counted as unknown, never as 1 or 0.
WITH long AS (
    SELECT environment, 1 AS place, 'obs' AS dimension, fidelity_obs AS fidelity, fidelity_obs_se AS se FROM profiles_now
    UNION ALL
    SELECT environment, 2, 'act', fidelity_act, fidelity_act_se FROM profiles_now
    UNION ALL
    SELECT environment, 3, 'rew', fidelity_rew, fidelity_rew_se FROM profiles_now
    UNION ALL
    SELECT environment, 4, 'trans', fidelity_trans, fidelity_trans_se FROM profiles_now
    UNION ALL
    -- The product that the gate uses.
    SELECT environment, 5, 'all', fidelity, fidelity_se FROM profiles_now
)
SELECT
    environment,
    dimension,
    count(fidelity) AS known,
    count(*) - count(fidelity) AS unknown,
    round(exact_mean(fidelity), 4) AS mean,
    round(min(fidelity), 4) AS least,
    round(percentile_cont(0.25) WITHIN GROUP (ORDER BY fidelity), 4) AS quarter,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY fidelity), 4) AS median,
    round(percentile_cont(0.75) WITHIN GROUP (ORDER BY fidelity), 4) AS three_quarters,
    round(max(fidelity), 4) AS most,
    count(CASE WHEN fidelity < 0.7 THEN 1 END) AS below_07,
    -- One standard error per environment: see view profiles_now.
    round(max(se), 4) AS se
FROM long
GROUP BY environment, dimension, place
ORDER BY environment, place
