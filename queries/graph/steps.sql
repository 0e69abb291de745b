-- Every call of every run, in order, with what came back and where it leads.
--
-- `next_*` is the call after it in the same run, null behind the last. `success`: what the judges
-- of the run say, by majority; null where nobody judged. A result without a call is no step.
WITH judged AS (
    SELECT run_id, exact_mean(CASE WHEN coalesce(v.success, v.reward >= 1.0) THEN 1.0 ELSE 0.0 END) > 0.5 AS success
    FROM verdicts AS v
    WHERE v.success IS NOT NULL OR v.reward IS NOT NULL
    GROUP BY run_id
),
made AS (
    SELECT
        c.environment, c.arm, c.repeat, c.run_id, c.trajectory_id, c.trajectory_key, c.turn, c."index",
        c.name AS api, coalesce(o.outcome, 'no_result') AS outcome, o.state_hash, c.call_key, c.arguments
    FROM calls AS c
    LEFT JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
    WHERE c.name IS NOT NULL AND c.call_status <> 'orphan_result'
)
SELECT
    m.*,
    row_number() OVER ordered AS step,
    lag(api) OVER ordered AS before_api,
    lag(outcome) OVER ordered AS before_outcome,
    lag(state_hash) OVER ordered AS before_state,
    lag(api, 2) OVER ordered AS before_api_2,
    lag(outcome, 2) OVER ordered AS before_outcome_2,
    lag(api, 3) OVER ordered AS before_api_3,
    lag(outcome, 3) OVER ordered AS before_outcome_3,
    lead(turn) OVER ordered IS NULL AS ends,
    j.success
FROM made AS m
LEFT JOIN judged AS j ON j.run_id = m.run_id
WINDOW ordered AS (PARTITION BY m.run_id ORDER BY m.turn, m."index")
