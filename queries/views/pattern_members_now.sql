-- The calls of the patterns of the newest run of `fidelake mine`.
SELECT m.*
FROM pattern_members AS m
JOIN (SELECT max(generation) AS generation FROM patterns) AS newest ON newest.generation = m.generation
