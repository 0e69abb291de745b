-- After how many calls a write showed in a read on the real arm, one row per read
-- that was measured (docs/rules.md says what makes it measurable). 1: at once.
SELECT g.api, g.visible_after_real
FROM call_gaps_now g
WHERE g.environment = $environment AND g.visible_after_real IS NOT NULL AND g.api IS NOT NULL
  AND g.trajectory_id IN (
    SELECT trajectory_id FROM runs WHERE environment = $environment AND arm = 'real' AND (
{where}
    )
)
ORDER BY g.api, g.visible_after_real
