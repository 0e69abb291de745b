-- What varies between the runs of one arm, in a range of trajectories.
-- Reads: pending_range (rows of repeated.sql), range_calls, range_observations.
SELECT environment, trajectory_key, v['api'] AS api, v['arm'] AS arm, v['path'] AS path,
       v['same_shape'] AS same_shape, v['floats'] AS floats, v['reordered'] AS reordered
FROM (
    SELECT p.environment, c.trajectory_key, unnest(run_variations(
        p.environment, c.trajectory_key, c.arm, c.repeat, c.turn, c.index, c.name, c.call_key, c.arguments_raw,
        o.structured, o.content, o.structured_rule, o.truncated, o.outcome, NULL, NULL, NULL,
        p.sim_0, p.sim_1, p.real_0, p.real_1
    )) AS v
    FROM range_calls AS c
    JOIN pending_range AS p ON p.trajectory_key = c.trajectory_key
    JOIN range_observations AS o
      ON o.trajectory_key = c.trajectory_key
     AND o.arm = c.arm
     AND o.repeat = c.repeat
     AND o.turn = c.turn
     AND o.index = c.index
    GROUP BY p.environment, p.trajectory_id, c.trajectory_key
)
