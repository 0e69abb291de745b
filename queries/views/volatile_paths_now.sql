-- What is in force: the newest edit of a path, else what was learned last.
WITH newest AS (
    SELECT artefact_id FROM learned WHERE kind = 'volatile_paths' ORDER BY lake_version DESC LIMIT 1
),
edits AS (
    SELECT *
    FROM (
        SELECT *, row_number() OVER (PARTITION BY environment, api, path ORDER BY lake_version DESC) AS place
        FROM volatile_paths
        WHERE edited
    )
    -- `learned` takes an edit back.
    WHERE place = 1 AND class IS DISTINCT FROM 'learned'
),
learned_now AS (
    SELECT v.*
    FROM volatile_paths AS v
    LEFT SEMI JOIN newest ON newest.artefact_id = v.artefact_id
    WHERE NOT v.edited
)
SELECT environment, api, path, class, trajectories_sim, trajectories_real, trajectories_repeated, edited
FROM learned_now
LEFT ANTI JOIN edits
  ON edits.environment = learned_now.environment AND edits.api = learned_now.api AND edits.path = learned_now.path
UNION ALL
SELECT environment, api, path, class, trajectories_sim, trajectories_real, trajectories_repeated, edited
FROM edits
