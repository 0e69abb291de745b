-- How far each call of a row can be believed, in the order of the rows. Reads: $environments,
-- curation_list(place, environment, trajectory_id, ...).
SELECT
    l.place, g.turn, g."index", g.cause,
    g.obs_raw, g.obs_reliability, g.act_raw, g.act_reliability,
    g.outcome_raw, g.outcome_reliability, g.state_raw, g.state_reliability
FROM curation_list AS l
JOIN call_gaps_now AS g ON g.environment = l.environment AND g.trajectory_id = l.trajectory_id
WHERE g.environment IN ($environments) AND g.side <> 'real_only'
ORDER BY l.place, g.turn, g."index", g.slot
