-- One call of a run and what came back, as given.
--
-- `key` is the run's trajectory_key, found first: files are sorted by it, so that only the
-- payloads near it are read.
SELECT
    c.trajectory_id,
    c.arm,
    c.name,
    coalesce(c.arguments_raw, c.arguments) AS arguments,
    o.content,
    o.state
FROM (
    SELECT * FROM calls
    WHERE environment = $environment AND trajectory_key = $key AND run_id = $run AND turn = $turn AND "index" = $index
) AS c
LEFT JOIN (
    SELECT * FROM observations
    WHERE environment = $environment AND trajectory_key = $key AND run_id = $run AND turn = $turn AND "index" = $index
) AS o ON o.run_id = c.run_id
