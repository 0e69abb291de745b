-- The patterns of the newest run of `fidelake mine`, the largest part of the gap first.
SELECT
    pattern_id,
    name,
    environment,
    family,
    status,
    calls,
    trajectories,
    round(gap, 4) AS gap,
    round(share_gap, 4) AS share_gap,
    round(root_share, 4) AS root_share,
    round(precision, 4) AS precision,
    round(recall, 4) AS recall,
    array_to_string(apis, ', ') AS apis
FROM patterns_now
ORDER BY share_gap DESC, pattern_id
