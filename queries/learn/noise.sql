-- How far the runs of one arm differ from each other, by API and component.
--
-- Means over the calls that were repeated; fewer than five trajectories say too
-- little. Reads: classed(environment, api): APIs with learned classes; residual: the
-- rows of residual.sql. Calls of a trajectory that has repeats of both arms never use this, so
-- nothing is corrected with itself.
WITH own AS (
    SELECT g.environment, g.api, 'obs' AS component, g.trajectory_key, g.obs_noise_sim AS sim, g.obs_noise_real AS real
    FROM call_gaps_now AS g
    LEFT ANTI JOIN classed ON classed.environment = g.environment AND classed.api = g.api
    WHERE g.obs_noise_sim IS NOT NULL OR g.obs_noise_real IS NOT NULL
    UNION ALL
    -- Where classes are learned: what is left under them.
    SELECT environment, api, 'obs', trajectory_key, sim, real FROM residual
    UNION ALL
    SELECT environment, api, 'act' AS component, trajectory_key, act_noise_sim AS sim, act_noise_real AS real
    FROM call_gaps_now WHERE act_noise_sim IS NOT NULL OR act_noise_real IS NOT NULL
    UNION ALL
    SELECT environment, api, 'outcome' AS component, trajectory_key, outcome_noise_sim AS sim, outcome_noise_real AS real
    FROM call_gaps_now WHERE outcome_noise_sim IS NOT NULL OR outcome_noise_real IS NOT NULL
    UNION ALL
    SELECT environment, api, 'state' AS component, trajectory_key, state_noise_sim AS sim, state_noise_real AS real
    FROM call_gaps_now WHERE state_noise_sim IS NOT NULL OR state_noise_real IS NOT NULL
    UNION ALL
    SELECT environment, api, 'idempotency' AS component, trajectory_key, idempotency_noise_sim AS sim, idempotency_noise_real AS real
    FROM call_gaps_now WHERE idempotency_noise_sim IS NOT NULL OR idempotency_noise_real IS NOT NULL
    UNION ALL
    SELECT environment, api, 'read_after_write' AS component, trajectory_key, read_after_write_noise_sim AS sim, read_after_write_noise_real AS real
    FROM call_gaps_now WHERE read_after_write_noise_sim IS NOT NULL OR read_after_write_noise_real IS NOT NULL
    UNION ALL
    SELECT environment, api, 'latency' AS component, trajectory_key, latency_noise_sim AS sim, latency_noise_real AS real
    FROM call_gaps_now WHERE latency_noise_sim IS NOT NULL OR latency_noise_real IS NOT NULL
),
means AS (
    SELECT
        environment, api, component,
        exact_mean(sim) AS sim,
        exact_mean(real) AS real,
        count(DISTINCT CASE WHEN sim IS NOT NULL THEN trajectory_key END) AS trajectories_sim,
        count(DISTINCT CASE WHEN real IS NOT NULL THEN trajectory_key END) AS trajectories_real
    FROM own
    WHERE api IS NOT NULL
    GROUP BY environment, api, component
)
SELECT
    environment,
    api,
    component,
    CASE WHEN trajectories_sim >= 5 THEN sim END AS noise_sim,
    CASE WHEN trajectories_real >= 5 THEN real END AS noise_real,
    trajectories_sim,
    trajectories_real
FROM means
WHERE trajectories_sim >= 5 OR trajectories_real >= 5
ORDER BY environment, api, component
