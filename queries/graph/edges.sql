-- What follows what: transitions between calls, with how often, how well, and how faithfully.
--
-- A null `from_api` is the beginning of a run, a null `to_api` its end. Counts are transitions; `judged`
-- and `right` are runs that took it. `fidelity`: of the calls that the transition leads to in the first
-- run on sim, where they ran on both arms; null where none did. Reads graph_steps (steps.sql).
WITH moves AS (
    SELECT environment, arm, repeat, run_id, trajectory_id, turn, "index", success,
           before_api AS from_api, before_outcome AS from_outcome, api AS to_api, outcome AS to_outcome
    FROM graph_steps
    UNION ALL
    SELECT environment, arm, repeat, run_id, trajectory_id, NULL, NULL, success, api, outcome, NULL, NULL
    FROM graph_steps
    WHERE ends
),
taken AS (
    SELECT environment, from_api, from_outcome, to_api, to_outcome, arm, run_id, success, count(*) AS times
    FROM moves
    GROUP BY environment, from_api, from_outcome, to_api, to_outcome, arm, run_id, success
),
counts AS (
    SELECT
        environment, from_api, from_outcome, to_api, to_outcome,
        CAST(sum(CASE WHEN arm = 'sim' THEN times ELSE 0 END) AS BIGINT) AS sim_count,
        CAST(sum(CASE WHEN arm = 'real' THEN times ELSE 0 END) AS BIGINT) AS real_count,
        count(CASE WHEN arm = 'sim' AND success IS NOT NULL THEN 1 END) AS sim_judged,
        count(CASE WHEN arm = 'sim' AND success THEN 1 END) AS sim_right,
        count(CASE WHEN arm = 'real' AND success IS NOT NULL THEN 1 END) AS real_judged,
        count(CASE WHEN arm = 'real' AND success THEN 1 END) AS real_right
    FROM taken
    GROUP BY environment, from_api, from_outcome, to_api, to_outcome
),
first AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat
    FROM runs
    WHERE arm = 'sim'
    GROUP BY environment, trajectory_id
),
gaps AS (
    SELECT
        m.environment, before_api AS from_api, before_outcome AS from_outcome, m.api AS to_api, m.outcome AS to_outcome,
        count(*) AS measured,
        gap_ratio(1.0, obs_raw, obs_reliability) AS obs,
        gap_ratio(1.0, act_raw, act_reliability) AS act,
        trans_gap(
            gap_ratio(1.0, outcome_raw, outcome_reliability),
            gap_ratio(1.0, state_raw, state_reliability),
            gap_ratio(1.0, idempotency_raw, idempotency_reliability),
            gap_ratio(1.0, read_after_write_raw, read_after_write_reliability),
            gap_ratio(1.0, latency_raw, latency_reliability)
        ) AS trans
    FROM graph_steps AS m
    JOIN first AS f ON f.environment = m.environment AND f.trajectory_id = m.trajectory_id AND f.repeat = m.repeat
    JOIN call_gaps_now AS g
      ON g.environment = m.environment AND g.trajectory_id = m.trajectory_id AND g.turn = m.turn AND g."index" = m."index"
    WHERE m.arm = 'sim' AND g.side = 'both'
    GROUP BY m.environment, before_api, before_outcome, m.api, m.outcome
)
SELECT
    c.environment, c.from_api, c.from_outcome, c.to_api, c.to_outcome,
    c.sim_count, c.real_count, c.sim_judged, c.sim_right, c.real_judged, c.real_right,
    coalesce(g.measured, 0) AS measured,
    CASE WHEN coalesce(g.obs, g.act, g.trans) IS NOT NULL
         THEN (1 - coalesce(g.obs, 0)) * (1 - coalesce(g.act, 0)) * (1 - coalesce(g.trans, 0)) END AS fidelity
FROM counts AS c
LEFT JOIN gaps AS g
  ON g.environment = c.environment
 AND (g.from_api IS NOT DISTINCT FROM c.from_api)
 AND (g.from_outcome IS NOT DISTINCT FROM c.from_outcome)
 AND g.to_api = c.to_api AND g.to_outcome = c.to_outcome
WHERE {where}
ORDER BY c.environment, c.from_api NULLS FIRST, c.from_outcome NULLS FIRST, c.to_api NULLS LAST, c.to_outcome NULLS LAST
