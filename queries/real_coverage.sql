-- How much of what ran on sim also ran on real, by environment and API.
--
-- A gap is known only where both arms were run: where the share is low, the gap
-- of this API stands on few calls. Counted are calls of trajectories, so that
-- repeats do not count twice. A call also ran on real if a real run of its
-- trajectory has the same call (name and arguments), or a call of that name at
-- the same place. This needs no profile.
WITH on_sim AS (
    SELECT DISTINCT environment, trajectory_id, turn, "index", name, call_key
    FROM calls
    WHERE arm = 'sim' AND call_status <> 'orphan_result'
),
same_call AS (
    SELECT DISTINCT environment, trajectory_id, call_key
    FROM calls
    WHERE arm = 'real' AND call_status <> 'orphan_result'
),
same_place AS (
    SELECT DISTINCT environment, trajectory_id, turn, "index", name
    FROM calls
    WHERE arm = 'real' AND call_status <> 'orphan_result'
),
marked AS (
    SELECT
        s.environment,
        s.name AS api,
        s.trajectory_id,
        k.call_key IS NOT NULL OR p.turn IS NOT NULL AS also_on_real
    FROM on_sim AS s
    LEFT JOIN same_call AS k
      ON k.environment = s.environment AND k.trajectory_id = s.trajectory_id AND k.call_key = s.call_key
    LEFT JOIN same_place AS p
      ON p.environment = s.environment AND p.trajectory_id = s.trajectory_id
     AND p.turn = s.turn AND p."index" = s."index" AND p.name = s.name
)
SELECT
    environment,
    api,
    count(*) AS calls_on_sim,
    count(CASE WHEN also_on_real THEN 1 END) AS also_on_real,
    round(count(CASE WHEN also_on_real THEN 1 END) * 1.0 / count(*), 4) AS share,
    count(DISTINCT trajectory_id) AS trajectories,
    count(DISTINCT CASE WHEN also_on_real THEN trajectory_id END) AS trajectories_on_real
FROM marked
GROUP BY environment, api
ORDER BY share, calls_on_sim DESC, environment, api
