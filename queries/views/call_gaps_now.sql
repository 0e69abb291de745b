-- The newest generation of every trajectory's calls.
-- A trajectory is always recomputed whole, so one anti-join on (trajectory, generation) is enough.
SELECT g.*
FROM call_gaps AS g
LEFT ANTI JOIN (
    SELECT old.environment, old.trajectory_id, old.generation
    FROM profiles AS old
    JOIN profiles AS new
      ON new.environment = old.environment
     AND new.trajectory_id = old.trajectory_id
     AND new.generation > old.generation
) AS superseded
  ON superseded.environment = g.environment
 AND superseded.trajectory_id = g.trajectory_id
 AND superseded.generation = g.generation
