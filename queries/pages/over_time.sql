-- Fidelity over time: trajectories by when they began.
--
-- A trajectory began when the first of its runs did; where no run says when, when it was
-- imported. Steps are hours for up to two days of data, then days, weeks (from 60 days) and
-- months (from 400 days).
WITH brought AS (
    SELECT import_id, max(imported_at) AS at FROM imports GROUP BY import_id
),
begun AS (
    SELECT r.environment, r.trajectory_key, min(coalesce(r.started_at, b.at)) AS at
    FROM runs AS r
    LEFT JOIN brought AS b ON b.import_id = r.import_id
    GROUP BY r.environment, r.trajectory_key
),
extent AS (
    SELECT (CAST(max(at) AS BIGINT) - CAST(min(at) AS BIGINT)) / 86400000000 AS days FROM begun
),
steps AS (
    SELECT
        b.environment,
        b.trajectory_key,
        CASE WHEN e.days < 2 THEN 'hour' WHEN e.days < 60 THEN 'day' WHEN e.days < 400 THEN 'week' ELSE 'month' END AS step,
        CASE
            WHEN e.days < 2 THEN date_trunc('hour', b.at)
            WHEN e.days < 60 THEN date_trunc('day', b.at)
            WHEN e.days < 400 THEN date_trunc('week', b.at)
            ELSE date_trunc('month', b.at)
        END AS since
    FROM begun AS b
    CROSS JOIN extent AS e
)
SELECT
    s.environment,
    s.since,
    s.step,
    count(*) AS trajectories,
    count(p.fidelity) AS known,
    round(exact_mean(p.fidelity), 4) AS fidelity,
    round(exact_mean(p.fidelity_obs), 4) AS obs,
    round(exact_mean(p.fidelity_act), 4) AS act,
    round(exact_mean(p.fidelity_rew), 4) AS rew,
    round(exact_mean(p.fidelity_trans), 4) AS trans,
    round(CAST(count(CASE WHEN p.fidelity < 0.7 THEN 1 END) AS DOUBLE) / nullif(count(p.fidelity), 0), 4) AS low_share,
    round(1 - CAST(count(p.fidelity) AS DOUBLE) / count(*), 4) AS unknown_share
FROM steps AS s
LEFT JOIN profiles_now AS p
  ON p.trajectory_key = s.trajectory_key AND p.environment = s.environment
GROUP BY s.environment, s.since, s.step
ORDER BY s.environment, s.since
