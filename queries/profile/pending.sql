-- Trajectories that ran on both arms and whose runs, rules or engine changed
-- since their newest profile (or that have none). Reads: $engine, comparable.
WITH dual AS (
    SELECT
        environment,
        trajectory_id,
        trajectory_key,
        bit_xor(hash64(concat(run_id, content_hash))) AS runs_hash,
        sum(call_count) AS calls,
        count(*) FILTER (WHERE arm = 'sim') AS sim_runs,
        count(*) FILTER (WHERE arm = 'real') AS real_runs,
        array_agg(repeat ORDER BY repeat) FILTER (WHERE arm = 'sim') AS sim_repeats,
        array_agg(repeat ORDER BY repeat) FILTER (WHERE arm = 'real') AS real_repeats
    FROM runs
    GROUP BY environment, trajectory_id, trajectory_key
    HAVING count(*) FILTER (WHERE arm = 'sim') > 0
       AND count(*) FILTER (WHERE arm = 'real') > 0
),
described AS (
    SELECT
        dual.environment,
        dual.trajectory_id,
        dual.trajectory_key,
        comparable.environment IS NOT NULL AS states_comparable,
        concat(
            $engine, CASE WHEN comparable.environment IS NULL THEN '-' ELSE '+' END,
            to_hex(runs_hash)
        ) AS inputs,
        calls,
        CAST(sim_runs AS INT) AS sim_runs,
        CAST(real_runs AS INT) AS real_runs,
        -- The first two repeats of each arm; further ones count in the noise only.
        sim_repeats[1] AS sim_0,
        sim_repeats[2] AS sim_1,
        real_repeats[1] AS real_0,
        real_repeats[2] AS real_1
    FROM dual
    LEFT JOIN comparable ON comparable.environment = dual.environment
)
SELECT described.*
FROM described
LEFT ANTI JOIN profiles_now AS done
  ON done.environment = described.environment
 AND done.trajectory_id = described.trajectory_id
 AND done.inputs = described.inputs
ORDER BY trajectory_key, environment, trajectory_id
