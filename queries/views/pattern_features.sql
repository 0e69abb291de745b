-- One row per compared call, with what a pattern of low fidelity is described by.
-- The rules of table `patterns` are conditions over this view (docs/patterns.md):
--
--   SELECT environment, api, count(*) FROM pattern_features WHERE <rule> GROUP BY environment, api
--
-- What stands here is taken from the first run of each arm, apart from the gaps (`obs` to
-- `gap`, all runs, noise taken off) and the latencies (means over the runs).
WITH first_runs AS (
    SELECT environment, trajectory_id, arm, min(repeat) AS repeat
    FROM runs
    GROUP BY environment, trajectory_id, arm
),
-- A name that is offered twice counts once.
offered AS (
    SELECT catalog_hash, name, min(parameters) AS parameters
    FROM catalogs
    WHERE name IS NOT NULL
    GROUP BY catalog_hash, name
),
made AS (
    SELECT
        c.trajectory_key, c.arm, c.turn, c."index", c.name, c.arguments, c.call_key, r.catalog_hash, o.content_hash,
        -- The answer of the last identical call of the run.
        lag(o.content_hash) OVER (
            PARTITION BY c.run_id, c.call_key ORDER BY c.turn, c."index"
        ) AS hash_before
    FROM runs AS r
    JOIN first_runs AS f
      ON f.environment = r.environment AND f.trajectory_id = r.trajectory_id
     AND f.arm = r.arm AND f.repeat = r.repeat
    JOIN calls AS c ON c.run_id = r.run_id
    LEFT JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
    WHERE c.name IS NOT NULL
),
on_sim AS (
    SELECT made.*, offered.parameters, offered.name IS NOT NULL AS declared
    FROM made
    LEFT JOIN offered ON offered.catalog_hash = made.catalog_hash AND offered.name = made.name
    WHERE arm = 'sim'
),
on_real AS (
    SELECT made.*, offered.parameters, offered.name IS NOT NULL AS declared
    FROM made
    LEFT JOIN offered ON offered.catalog_hash = made.catalog_hash AND offered.name = made.name
    WHERE arm = 'real'
),
path_names AS (
    SELECT DISTINCT path_id, kind, path FROM evidence
),
differing AS (
    SELECT trajectory_key, slot, array_agg(concat(n.kind, ' ', n.path) ORDER BY n.kind, n.path) AS paths
    FROM (
        SELECT trajectory_key, slot, unnest(path_ids) AS path_id
        FROM call_gaps_now
        WHERE cardinality(path_ids) > 0
    ) AS u
    JOIN path_names AS n ON n.path_id = u.path_id
    GROUP BY trajectory_key, slot
),
compared AS (
    SELECT
        g.*,
        lag(api) OVER (PARTITION BY environment, trajectory_key ORDER BY slot) AS api_before,
        lead(api) OVER (PARTITION BY environment, trajectory_key ORDER BY slot) AS api_after,
        count(*) OVER (PARTITION BY environment, trajectory_key) AS calls_of_trajectory,
        -- A gap of one call: what noise leaves of it, between nothing and everything.
        greatest(0.0, least(1.0, coalesce(obs_raw / nullif(obs_reliability, 0), 0))) AS obs_gap,
        greatest(0.0, least(1.0, coalesce(act_raw / nullif(act_reliability, 0), 0))) AS act_gap,
        greatest(0.0, least(1.0, coalesce(outcome_raw / nullif(outcome_reliability, 0), 0))) AS outcome_gap,
        greatest(0.0, least(1.0, coalesce(state_raw / nullif(state_reliability, 0), 0))) AS state_gap,
        greatest(0.0, least(1.0, coalesce(idempotency_raw / nullif(idempotency_reliability, 0), 0))) AS idempotency_gap,
        greatest(0.0, least(1.0, coalesce(read_after_write_raw / nullif(read_after_write_reliability, 0), 0))) AS read_after_write_gap,
        greatest(0.0, least(1.0, coalesce(latency_raw / nullif(latency_reliability, 0), 0))) AS latency_gap
    FROM call_gaps_now AS g
)
SELECT
    g.environment,
    g.trajectory_id,
    g.trajectory_key,
    g.slot,
    g.turn,
    g."index",
    coalesce(g.api, '-') AS api,
    g.side,
    coalesce(g.outcome_sim, '-') AS outcome_sim,
    coalesce(g.outcome_real, '-') AS outcome_real,
    -- What differs between the first runs: the first of these that does.
    CASE
        WHEN g.side <> 'both' THEN g.side
        WHEN coalesce(g.outcome_sim, '-') <> coalesce(g.outcome_real, '-') THEN 'outcome'
        WHEN cardinality(g.path_ids) > 0 THEN 'answer'
        -- Flaky without a path: it was the later runs that differed.
        WHEN g.cause NOT IN ('none', 'flaky') THEN 'state'
        WHEN g.latency_ms_real >= 2 * g.latency_ms_sim AND g.latency_ms_real >= g.latency_ms_sim + 10 THEN 'slower'
        WHEN g.latency_ms_sim >= 2 * g.latency_ms_real AND g.latency_ms_sim >= g.latency_ms_real + 10 THEN 'faster'
        ELSE 'nothing'
    END AS differs,
    concat_ws('+',
        CASE WHEN g.paths_missing > 0 THEN 'missing' END,
        CASE WHEN g.paths_extra > 0 THEN 'extra' END,
        CASE WHEN g.paths_type > 0 THEN 'type' END,
        CASE WHEN g.paths_value > 0 THEN 'value' END,
        CASE WHEN g.paths_order > 0 THEN 'order' END,
        CASE WHEN g.paths_cosmetic > 0 THEN 'cosmetic' END
    ) AS kinds,
    differing.paths,
    -- Which arm gives an old answer again where the other gives a new one.
    CASE
        WHEN on_sim.hash_before = on_sim.content_hash AND on_real.hash_before <> on_real.content_hash THEN 'sim'
        WHEN on_real.hash_before = on_real.content_hash AND on_sim.hash_before <> on_sim.content_hash THEN 'real'
        ELSE 'none'
    END AS stale,
    CASE
        WHEN g.latency_ms_real >= 2 * g.latency_ms_sim AND g.latency_ms_real >= g.latency_ms_sim + 10 THEN 'slower'
        WHEN g.latency_ms_sim >= 2 * g.latency_ms_real AND g.latency_ms_sim >= g.latency_ms_real + 10 THEN 'faster'
        ELSE 'alike'
    END AS latency,
    g.latency_ms_real / nullif(g.latency_ms_sim, 0) AS latency_ratio,
    -- Against the schema that the agent was told, else that of real.
    CASE
        WHEN coalesce(on_sim.declared, false) OR coalesce(on_real.declared, false)
            THEN coalesce(argument_faults(coalesce(on_sim.arguments, on_real.arguments), coalesce(on_sim.parameters, on_real.parameters)), 'unknown')
        WHEN on_sim.catalog_hash IS NULL AND on_real.catalog_hash IS NULL THEN 'unknown'
        ELSE 'unknown_tool'
    END AS argument_faults,
    coalesce(argument_names(coalesce(on_sim.arguments, on_real.arguments)), '-') AS argument_names,
    coalesce(on_sim.arguments, on_real.arguments) AS arguments,
    coalesce(on_sim.call_key, on_real.call_key) AS call_key,
    coalesce(g.api_before, '-') AS api_before,
    coalesce(g.api_after, '-') AS api_after,
    CASE
        WHEN g.slot = 0 THEN 'first'
        WHEN g.slot + 1 = g.calls_of_trajectory THEN 'last'
        ELSE 'middle'
    END AS position,
    g.cause,
    g.noise,
    g.weight,
    g.obs_gap AS obs,
    g.act_gap AS act,
    g.outcome_gap AS outcome,
    g.state_gap AS state,
    g.idempotency_gap AS idempotency,
    g.read_after_write_gap AS read_after_write,
    g.latency_gap AS latency_gap,
    1 - (1 - g.obs_gap) * (1 - g.act_gap)
        * (1 - g.outcome_gap) * (1 - g.state_gap) * (1 - 0.5 * g.idempotency_gap)
        * (1 - 0.5 * g.read_after_write_gap) * (1 - 0.1 * g.latency_gap) AS gap,
    g.obs_raw,
    g.obs_distance,
    g.obs_noise_sim,
    g.obs_noise_real,
    g.outcome_raw,
    g.outcome_noise_sim,
    g.outcome_noise_real,
    g.state_raw,
    g.state_noise_sim,
    g.state_noise_real
FROM compared AS g
LEFT JOIN on_sim
  ON on_sim.trajectory_key = g.trajectory_key AND on_sim.turn = g.turn AND on_sim."index" = g."index" AND on_sim.name = g.api
LEFT JOIN on_real
  ON on_real.trajectory_key = g.trajectory_key AND on_real.turn = g.turn AND on_real."index" = g."index" AND on_real.name = g.api
LEFT JOIN differing ON differing.trajectory_key = g.trajectory_key AND differing.slot = g.slot
