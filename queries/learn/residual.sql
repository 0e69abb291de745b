-- The noise of answers that is left where learned classes are used, in a range of
-- trajectories with repeats: the classes take some of it off, and what is taken off
-- twice makes a real gap vanish.
-- `sim_1` and `real_1` are withheld from compare_runs: the classes are for
-- trajectories without repeats.
-- Reads: pending_range (rows of repeated.sql), classed(environment, api).
SELECT found.environment, found.trajectory_key, found.c['api'] AS api,
       found.c['obs_noise_sim'] AS sim, found.c['obs_noise_real'] AS real
FROM (
    SELECT p.environment, c.trajectory_key, unnest(compare_runs(
        p.environment, c.trajectory_key, c.arm, c.repeat, c.turn, c.index, c.name, c.call_key, c.arguments_raw,
        o.structured, o.content, o.structured_rule, o.truncated, o.outcome, NULL, NULL, NULL,
        p.sim_0, NULL, p.real_0, NULL
    )) AS c
    FROM range_calls AS c
    JOIN pending_range AS p ON p.trajectory_key = c.trajectory_key
    JOIN classed ON classed.environment = p.environment AND classed.api = c.name
    JOIN range_observations AS o
      ON o.trajectory_key = c.trajectory_key
     AND o.arm = c.arm
     AND o.repeat = c.repeat
     AND o.turn = c.turn
     AND o.index = c.index
    GROUP BY p.environment, p.trajectory_id, c.trajectory_key
) AS found
