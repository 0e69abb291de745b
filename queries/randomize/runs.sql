-- The simulator's runs, with the labels that say what stood around it. NAME--anything
-- is NAME under another name, as plans store it beside the plain one.
SELECT environment, trajectory_id, labels
FROM runs
WHERE arm = 'sim' AND (environment = $environment OR starts_with(environment, $environment || '--'))
ORDER BY environment, trajectory_id, repeat
