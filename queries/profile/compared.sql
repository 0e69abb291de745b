-- All runs of the trajectories in a range, side by side: one row per trajectory, its calls
-- in a list. Payloads are joined within the range only, and never leave `compare_runs`.
-- Reads: pending_range, range_calls, range_observations.
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
)
SELECT
    environment, trajectory_id, trajectory_key, inputs,
    compare_runs(
        environment, trajectory_key, arm, repeat, turn, index, name, call_key, arguments_raw,
        structured, content, structured_rule, truncated, outcome, state, state_hash, latency_ms,
        sim_0, sim_1, real_0, real_1
    ) AS calls
FROM answered
GROUP BY environment, trajectory_id, trajectory_key, inputs
