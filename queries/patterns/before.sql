-- The calls of the patterns of the newest run, for the ids that they keep.
SELECT pattern_id, trajectory_key, slot FROM pattern_members_now ORDER BY pattern_id, trajectory_key, slot
