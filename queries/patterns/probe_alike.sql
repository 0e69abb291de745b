-- Calls of sim that real was never asked, and that look on sim as the pattern's do: the same
-- tool with the same outcome, the same names of arguments, and as before or not an answer that
-- it had already given to that very call. Where several different calls of the pattern got one and the
-- same answer, this answer tells more than the tool: what gets it is alike, whatever its tool.
WITH first_runs AS (
    SELECT environment, trajectory_id, min(repeat) AS repeat
    FROM runs
    WHERE arm = 'sim' AND environment = $environment
    GROUP BY environment, trajectory_id
),
asked AS (
    SELECT DISTINCT trajectory_id FROM runs WHERE arm = 'real' AND environment = $environment
),
made AS (
    SELECT
        c.environment, c.trajectory_id, c.trajectory_key, c.turn, c."index", c.name AS api, c.call_key, o.outcome, o.content_hash,
        coalesce(argument_names(c.arguments), '-') AS argument_names,
        CASE
            WHEN o.content_hash = lag(o.content_hash) OVER (PARTITION BY c.run_id, c.call_key ORDER BY c.turn, c."index") THEN 'old'
            ELSE 'new'
        END AS answer
    FROM first_runs AS f
    JOIN runs AS r
      ON r.environment = f.environment AND r.trajectory_id = f.trajectory_id AND r.arm = 'sim' AND r.repeat = f.repeat
    JOIN calls AS c ON c.run_id = r.run_id
    JOIN observations AS o ON o.run_id = c.run_id AND o.turn = c.turn AND o."index" = c."index"
    WHERE c.name IS NOT NULL AND c.call_status = 'answered'
),
of_pattern AS (
    SELECT made.*
    FROM made
    JOIN pattern_members_now AS m
      ON m.trajectory_key = made.trajectory_key AND m.turn = made.turn AND m."index" = made."index" AND m.api = made.api
    WHERE m.pattern_id = $id
),
same_answer AS (
    SELECT outcome, content_hash FROM of_pattern GROUP BY outcome, content_hash HAVING count(DISTINCT call_key) > 1
),
looks AS (
    SELECT DISTINCT p.api, p.outcome, p.argument_names, p.answer
    FROM of_pattern AS p
    LEFT JOIN same_answer AS s ON s.outcome = p.outcome AND s.content_hash = p.content_hash
    WHERE s.content_hash IS NULL
),
alike AS (
    SELECT made.* FROM made JOIN same_answer AS s ON s.outcome = made.outcome AND s.content_hash = made.content_hash
    UNION
    SELECT made.*
    FROM made
    JOIN looks AS l
      ON l.api = made.api AND l.outcome = made.outcome AND l.argument_names = made.argument_names AND l.answer = made.answer
)
SELECT alike.environment, alike.trajectory_id, alike.turn, alike."index", alike.api
FROM alike
LEFT JOIN asked ON asked.trajectory_id = alike.trajectory_id
WHERE asked.trajectory_id IS NULL
ORDER BY alike.environment, alike.trajectory_id, alike.turn, alike."index"
