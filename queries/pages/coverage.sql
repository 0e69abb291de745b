-- What the real calls told: by API, how many calls were compared and how many of them differ.
--
-- `compared`: calls that ran on both arms. `differ`: those that noise alone does not explain
-- by their cause. `roots` are the simulator's own faults; the others follow from one before.
SELECT
    environment,
    coalesce(api, '-') AS api,
    count(*) AS calls,
    count(CASE WHEN side = 'both' THEN 1 END) AS compared,
    count(CASE WHEN side = 'sim_only' THEN 1 END) AS sim_only,
    count(CASE WHEN side = 'real_only' THEN 1 END) AS real_only,
    count(CASE WHEN cause IN ('structural', 'state') THEN 1 END) AS differ,
    count(CASE WHEN cause = 'structural' THEN 1 END) AS roots,
    count(CASE WHEN cause = 'flaky' THEN 1 END) AS flaky,
    count(CASE WHEN noise = 'measured' THEN 1 END) AS noise_measured
FROM call_gaps_now
GROUP BY 1, 2
ORDER BY differ DESC, calls DESC, environment, api
