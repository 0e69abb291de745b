-- The calls of a range of trajectories, with the slot that the same call has in
-- every run. Reads: $lo, $hi, pending_range. Payloads are joined within the range only.
WITH small AS (
    SELECT c.trajectory_key, c.arm, c.repeat, c.turn, c.index, c.name, c.call_key
    FROM calls AS c
    LEFT SEMI JOIN pending_range AS p ON p.trajectory_key = c.trajectory_key
    WHERE c.trajectory_key BETWEEN $lo AND $hi
),
aligned AS (
    SELECT trajectory_key, unnest(align_calls(arm, repeat, turn, index, name, call_key)) AS place
    FROM small
    GROUP BY trajectory_key
),
placed AS (
    SELECT
        trajectory_key,
        place['arm'] AS arm,
        place['repeat'] AS repeat,
        place['turn'] AS turn,
        place['index'] AS index,
        place['slot'] AS slot
    FROM aligned
)
SELECT
    placed.*,
    -- Runs in their fixed order: sim first, by repeat.
    CASE WHEN placed.arm = 'sim' THEN placed.repeat ELSE 1000000 + placed.repeat END AS run_order,
    c.name AS api,
    c.arguments_raw AS arguments,
    o.structured,
    o.content,
    o.structured_rule,
    coalesce(o.truncated, false) AS truncated,
    o.outcome,
    o.state,
    CASE WHEN p.states_comparable THEN o.state_hash END AS state_hash,
    o.latency_ms,
    p.sim_0, p.sim_1, p.real_0, p.real_1
FROM placed
JOIN pending_range AS p ON p.trajectory_key = placed.trajectory_key
JOIN calls AS c
  ON c.trajectory_key = placed.trajectory_key
 AND c.arm = placed.arm
 AND c.repeat = placed.repeat
 AND c.turn = placed.turn
 AND c.index = placed.index
 AND c.trajectory_key BETWEEN $lo AND $hi
LEFT JOIN observations AS o
  ON o.trajectory_key = placed.trajectory_key
 AND o.arm = placed.arm
 AND o.repeat = placed.repeat
 AND o.turn = placed.turn
 AND o.index = placed.index
 AND o.trajectory_key BETWEEN $lo AND $hi
