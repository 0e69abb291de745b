-- The runs that a curation could have taken, with four ways to weigh them.
--
-- `all_weight`: every run of the arm counts 1. `right_weight`: 1 where the judge says
-- that it went well, else 0: what a filter on labels alone would take. `kept_weight`: 1
-- where the curation made a row of it. `weight`: its fidelity weight, 0 if left out.
-- Two tables stand beside the lake's: `curation_asked` (one row: arm, judge) and
-- `curation_kept` (run_id, fidelity_weight).
WITH told AS (
    SELECT v.run_id, exact_mean(CASE WHEN coalesce(v.success, v.reward >= 1) THEN 1.0 ELSE 0.0 END) AS right_share
    FROM verdicts AS v
    JOIN curation_asked AS a ON a.arm = v.arm AND (a.judge IS NULL OR a.judge = v.judge)
    WHERE v.success IS NOT NULL OR v.reward IS NOT NULL
    GROUP BY v.run_id
)
SELECT
    r.run_id,
    r.environment,
    r.trajectory_id,
    r.trajectory_key,
    r.arm,
    r.repeat,
    coalesce(r.task_id, r.trajectory_id) AS task,
    r.call_count,
    t.right_share,
    p.fidelity,
    p.fidelity_obs,
    p.fidelity_act,
    p.fidelity_rew,
    p.fidelity_trans,
    1.0 AS all_weight,
    CASE WHEN t.right_share >= 0.5 THEN 1.0 ELSE 0.0 END AS right_weight,
    CASE WHEN k.run_id IS NULL THEN 0.0 ELSE 1.0 END AS kept_weight,
    coalesce(k.fidelity_weight, 0.0) AS weight
FROM runs AS r
JOIN curation_asked AS a ON a.arm = r.arm
LEFT JOIN told AS t ON t.run_id = r.run_id
LEFT JOIN curation_kept AS k ON k.run_id = r.run_id
LEFT JOIN profiles_now AS p
  ON p.environment = r.environment AND p.trajectory_id = r.trajectory_id
