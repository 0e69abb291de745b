-- How often every task was solved, by arm and policy.
--
-- Of the arm at hand the verdicts that the recipe takes count; of the real arm, where
-- often another judge sits, those of any judge if the recipe's own said nothing.
WITH anybody AS (
    SELECT run_id, exact_mean(good) AS good FROM curation_opinions GROUP BY run_id
),
told AS (
    SELECT
        r.environment,
        coalesce(r.task_id, 'text ' || CAST(hash64(r.task) AS VARCHAR), r.trajectory_id) AS task,
        r.arm,
        r.policy,
        CASE WHEN r.arm = 'real' THEN coalesce(c.good, a.good) ELSE c.good END AS good
    FROM runs AS r
    LEFT JOIN curation_rewards AS c ON c.run_id = r.run_id
    LEFT JOIN anybody AS a ON a.run_id = r.run_id
)
SELECT environment, task, arm, policy, count(*) AS runs, count(CASE WHEN good > 0.5 THEN 1 END) AS solved
FROM told
WHERE good IS NOT NULL
GROUP BY environment, task, arm, policy
