-- The noise that profiles use: of the newest artefact.
SELECT n.*
FROM learned_noise AS n
LEFT SEMI JOIN (
    SELECT artefact_id FROM learned WHERE kind = 'noise' ORDER BY lake_version DESC LIMIT 1
) AS newest ON newest.artefact_id = n.artefact_id
