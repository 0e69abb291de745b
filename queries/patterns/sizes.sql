-- The patterns of the newest run at a lake version, with their sizes.
SELECT pattern_id, name, calls, gap, share_gap, generation FROM patterns_now ORDER BY pattern_id
