-- How many current examples the paths of each API have, those of pending trajectories apart.
-- Reads: $oldest (the first generation that has examples), pending_range.
-- Only a later profile can supersede an example, and most profiles are of the first
-- generation: with the condition their files are not opened.
WITH later AS (
    SELECT environment, trajectory_id, generation FROM profiles WHERE generation > $oldest
)
SELECT e.environment, e.api, e.path_id, count(*) AS examples
FROM evidence AS e
LEFT ANTI JOIN later
  ON later.environment = e.environment
 AND later.trajectory_id = e.trajectory_id
 AND later.generation > e.generation
LEFT ANTI JOIN pending_range AS p
  ON p.environment = e.environment AND p.trajectory_id = e.trajectory_id
GROUP BY e.environment, e.api, e.path_id
