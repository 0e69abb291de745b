-- The calls that real has answered, run by run in their order.
SELECT run_id, call_key
FROM calls
WHERE environment = $environment AND arm = 'real' AND call_status = 'answered'
ORDER BY run_id, turn, "index"
