-- Trajectories that ran on both arms and whose runs, rules or engine changed
-- since their newest profile (or that have none). Reads: $engine, $terms (the term
-- weights of the decision gap, for those that were offered tools), comparable, and
-- touched(environment, api, said, learned): hashes of the rules and the learned
-- artefacts of an API. What was learned is used without repeats of both arms only.
WITH dual AS (
    SELECT
        environment,
        trajectory_id,
        trajectory_key,
        bit_xor(hash64(concat(run_id, content_hash))) AS runs_hash,
        sum(call_count) AS calls,
        count(*) FILTER (WHERE arm = 'sim') AS sim_runs,
        count(*) FILTER (WHERE arm = 'real') AS real_runs,
        -- The first two repeats of each arm; further ones count in the noise only.
        first_runs(arm, repeat) AS firsts,
        count(catalog_hash) FILTER (WHERE arm = 'sim') > 0
            AND count(catalog_hash) FILTER (WHERE arm = 'real') > 0 AS offered
    FROM runs
    GROUP BY environment, trajectory_id, trajectory_key
    HAVING count(*) FILTER (WHERE arm = 'sim') > 0
       AND count(*) FILTER (WHERE arm = 'real') > 0
),
-- The newest profile of each trajectory, without the standard errors of the view.
newest AS (
    SELECT p.environment, p.trajectory_id, p.inputs
    FROM profiles AS p
    LEFT ANTI JOIN profiles AS later
      ON later.environment = p.environment
     AND later.trajectory_id = p.trajectory_id
     AND later.generation > p.generation
),
-- `said` and `learned` hold the API's name, so equal rows are of one API. Numbers alone,
-- since there are as many rows as trajectories have tools that a rule touches.
touching AS (
    SELECT trajectory_key, bit_xor(said) AS said, bit_xor(learned) AS learned
    FROM (
        SELECT DISTINCT calls.trajectory_key, touched.said, touched.learned
        FROM calls
        JOIN touched ON touched.environment = calls.environment AND touched.api = calls.name
    ) AS seen
    GROUP BY trajectory_key
),
described AS (
    SELECT
        dual.environment,
        dual.trajectory_id,
        dual.trajectory_key,
        comparable.environment IS NOT NULL AS states_comparable,
        concat(
            $engine, CASE WHEN comparable.environment IS NULL THEN '-' ELSE '+' END,
            to_hex(runs_hash),
            CASE WHEN touching.said <> 0 THEN concat('.', to_hex(touching.said)) END,
            CASE WHEN touching.learned <> 0 AND (sim_runs < 2 OR real_runs < 2) THEN concat('~', to_hex(touching.learned)) END,
            CASE WHEN offered THEN concat('=', $terms) END
        ) AS inputs,
        calls,
        offered,
        CAST(sim_runs AS INT) AS sim_runs,
        CAST(real_runs AS INT) AS real_runs,
        firsts['sim_0'] AS sim_0,
        firsts['sim_1'] AS sim_1,
        firsts['real_0'] AS real_0,
        firsts['real_1'] AS real_1
    FROM dual
    LEFT JOIN comparable ON comparable.environment = dual.environment
    LEFT JOIN touching ON touching.trajectory_key = dual.trajectory_key
)
SELECT described.*
FROM described
LEFT ANTI JOIN newest AS done
  ON done.environment = described.environment
 AND done.trajectory_id = described.trajectory_id
 AND done.inputs = described.inputs
ORDER BY trajectory_key, environment, trajectory_id
