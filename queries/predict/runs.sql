-- The gaps to expect of a run of sim, from what is known of the regions of its calls;
-- of the runs without a profile from all that is known (fold -1), of the first run of
-- the others from what other tasks say (the fold that their task is in).
-- One part of the trajectories at a time, from $low to $high of their keys: calls are joined
-- with their answers, and there are as many of both as a lake has.
-- Reads: predicted_regions (environment, api, outcome, fold, and per call the expected
-- parts of each gap; api '' and outcome '' where nothing finer is known).
WITH tasks AS (
    SELECT environment, trajectory_id, coalesce(min(task_id), trajectory_id) AS task, min(CASE WHEN arm = 'sim' THEN repeat END) AS first
    FROM runs
    WHERE trajectory_key BETWEEN $low AND $high
    GROUP BY environment, trajectory_id
),
wanted AS (
    SELECT
        r.run_id, r.environment, r.trajectory_key,
        p.trajectory_id IS NOT NULL AS held_back,
        CASE WHEN p.trajectory_id IS NULL THEN -1
             ELSE abs(hash64(concat(r.environment, '/', t.task))) % 10 END AS fold,
        p.run_obs, p.run_act, p.delta_trans
    FROM runs AS r
    JOIN tasks AS t ON t.environment = r.environment AND t.trajectory_id = r.trajectory_id
    LEFT JOIN profiles_now AS p
      ON p.environment = r.environment AND p.trajectory_id = r.trajectory_id
    WHERE r.arm = 'sim' AND r.trajectory_key BETWEEN $low AND $high
      AND (p.trajectory_id IS NULL OR r.repeat = t.first)
),
made AS (
    SELECT c.run_id, c.turn, c.name, coalesce(o.outcome, '') AS outcome
    FROM calls AS c
    LEFT JOIN observations AS o
      ON o.trajectory_key = c.trajectory_key AND o.run_id = c.run_id
     AND o.turn = c.turn AND o.index = c.index
     AND o.trajectory_key BETWEEN $low AND $high
    WHERE c.arm = 'sim' AND c.trajectory_key BETWEEN $low AND $high
),
expected AS (
    SELECT
        w.run_id, w.environment, w.held_back, w.run_obs, w.run_act, w.delta_trans,
        m.turn,
        coalesce(exactly.parts, of_api.parts, anywhere.parts) AS p
    FROM wanted AS w
    JOIN made AS m ON m.run_id = w.run_id
    JOIN predicted_regions AS anywhere
      ON anywhere.environment = w.environment AND anywhere.fold = w.fold
     AND anywhere.api = '' AND anywhere.outcome = ''
    LEFT JOIN predicted_regions AS of_api
      ON of_api.environment = w.environment AND of_api.fold = w.fold
     AND of_api.api = m.name AND of_api.outcome = ''
    LEFT JOIN predicted_regions AS exactly
      ON exactly.environment = w.environment AND exactly.fold = w.fold
     AND exactly.api = m.name AND exactly.outcome = m.outcome
)
SELECT
    run_id,
    environment,
    held_back,
    run_obs,
    run_act,
    delta_trans,
    profile_of(
        turn, 'none', p['obs_raw'], p['obs_reliability'], p['act_raw'], p['act_reliability'],
        p['outcome_raw'], p['outcome_reliability'], p['state_raw'], p['state_reliability'],
        p['idempotency_raw'], p['idempotency_reliability'],
        p['read_after_write_raw'], p['read_after_write_reliability'],
        p['latency_raw'], p['latency_reliability']
    ) AS expected
FROM expected
GROUP BY run_id, environment, held_back, run_obs, run_act, delta_trans
ORDER BY run_id
