-- The patterns of the newest run, the largest part of the gap first.
SELECT
    pattern_id, family, name, status, calls, trajectories, gap, share_gap, root_share, precision, recall
FROM patterns_now
ORDER BY share_gap DESC, pattern_id
