-- The simulator says ok, the real world says error.
--
-- The most expensive kind of lie: the agent learns that an action works which
-- the world will refuse (200 against 429 among them). Status codes are those of
-- the first runs, where the source gave them.
WITH disagreeing AS (
    SELECT environment, trajectory_id, trajectory_key, turn, "index", slot, api, outcome_real, cause
    FROM call_gaps_now
    WHERE outcome_sim = 'ok' AND outcome_real <> 'ok'
),
first_runs AS (
    SELECT environment, trajectory_id, arm, min(repeat) AS repeat
    FROM runs
    GROUP BY environment, trajectory_id, arm
),
statuses AS (
    SELECT o.environment, o.trajectory_id, o.arm, o.turn, o."index", o.status
    FROM observations AS o
    JOIN first_runs AS f
      ON f.environment = o.environment AND f.trajectory_id = o.trajectory_id
     AND f.arm = o.arm AND f.repeat = o.repeat
    WHERE o.status IS NOT NULL
)
SELECT
    d.environment,
    d.api,
    d.outcome_real,
    on_sim.status AS status_sim,
    on_real.status AS status_real,
    count(*) AS calls,
    -- Roots are the simulator's own faults; the others follow from one before.
    count(CASE WHEN d.cause = 'structural' THEN 1 END) AS roots,
    count(DISTINCT d.trajectory_key) AS trajectories,
    min(d.trajectory_id) AS example
FROM disagreeing AS d
-- A call that stands elsewhere on the other arm shows no status there.
LEFT JOIN statuses AS on_sim
  ON on_sim.environment = d.environment AND on_sim.trajectory_id = d.trajectory_id
 AND on_sim.turn = d.turn AND on_sim."index" = d."index" AND on_sim.arm = 'sim'
LEFT JOIN statuses AS on_real
  ON on_real.environment = d.environment AND on_real.trajectory_id = d.trajectory_id
 AND on_real.turn = d.turn AND on_real."index" = d."index" AND on_real.arm = 'real'
GROUP BY d.environment, d.api, d.outcome_real, on_sim.status, on_real.status
ORDER BY calls DESC, d.environment, d.api, d.outcome_real, status_sim, status_real
