-- For every row whose simulated answers might be replaced: the first run of the real arm, and how far its calls
-- are the calls of the row. Reads: curation_low(place, run_id, environment, trajectory_id), curation_rewards(run_id, reward).
WITH first AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat
    FROM runs
    WHERE arm = 'real'
    GROUP BY environment, trajectory_id
),
pairs AS (
    SELECT l.place, l.run_id, r.run_id AS real_run, r.call_count = s.call_count AS as_many
    FROM curation_low AS l
    JOIN first AS f ON f.environment = l.environment AND f.trajectory_id = l.trajectory_id
    JOIN runs AS r
      ON r.environment = l.environment AND r.trajectory_id = l.trajectory_id
     AND r.repeat = f.repeat AND r.arm = 'real'
    JOIN runs AS s ON s.run_id = l.run_id
),
sim_calls AS (
    SELECT p.place, p.run_id, p.real_run, p.as_many, c.turn, c."index", c.call_key
    FROM pairs AS p
    JOIN calls AS c ON c.run_id = p.run_id
    WHERE c.call_status <> 'orphan_result' AND c.requestor IS DISTINCT FROM 'user'
)
SELECT
    s.place,
    s.real_run,
    max(j.reward) AS real_reward,
    -- The same calls in the same places, and each of them was answered there.
    bool_and(s.as_many AND coalesce(c.call_key = s.call_key, false)
             AND coalesce(o.content_kind <> 'absent', false)) AS same,
    -- A call that only the real world refuses: these actions are not valid there.
    bool_or(coalesce(o.outcome IN ('invalid_arguments', 'unknown_tool'), false)
            AND NOT coalesce(x.outcome IN ('invalid_arguments', 'unknown_tool'), false)) AS refused
FROM sim_calls AS s
LEFT JOIN calls AS c ON c.run_id = s.real_run AND c.turn = s.turn AND c."index" = s."index"
LEFT JOIN observations AS o ON o.run_id = s.real_run AND o.turn = s.turn AND o."index" = s."index"
LEFT JOIN observations AS x ON x.run_id = s.run_id AND x.turn = s.turn AND x."index" = s."index"
LEFT JOIN curation_rewards AS j ON j.run_id = s.real_run
GROUP BY s.place, s.real_run
ORDER BY s.place
