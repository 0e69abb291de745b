-- The patterns of the newest run of `fidelake mine`.
SELECT p.*
FROM patterns AS p
JOIN (SELECT max(generation) AS generation FROM patterns) AS newest ON newest.generation = p.generation
