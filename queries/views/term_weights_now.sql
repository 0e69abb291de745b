-- The term weights that profiles use: of the newest artefact.
SELECT t.*
FROM term_weights AS t
LEFT SEMI JOIN (
    SELECT artefact_id FROM learned WHERE kind = 'term_weights' ORDER BY lake_version DESC LIMIT 1
) AS newest ON newest.artefact_id = t.artefact_id
