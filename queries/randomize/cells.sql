-- The gap of every API in every world that the simulator was run as: plain, and with
-- one perturbation at several intensities around it.
--
-- `randomize_worlds` names the world of each trajectory (labels of its sim runs).
-- Gaps are ratios of sums (docs/measures.md, "Noise-corrected gap"): with repeats that
-- have a chance of their own, what both worlds do as often is no gap.
WITH cells AS (
    SELECT
        w.perturbation,
        w.intensity,
        g.api,
        count(*) AS calls,
        count(DISTINCT g.trajectory_key) AS trajectories,
        gap_ratio(g.weight, g.obs_raw, g.obs_reliability) AS obs,
        gap_ratio(g.weight, g.act_raw, g.act_reliability) AS act,
        trans_gap(
            gap_ratio(g.weight, g.outcome_raw, g.outcome_reliability),
            gap_ratio(g.weight, g.state_raw, g.state_reliability),
            gap_ratio(g.weight, g.idempotency_raw, g.idempotency_reliability),
            gap_ratio(g.weight, g.read_after_write_raw, g.read_after_write_reliability),
            gap_ratio(g.weight, g.latency_raw, g.latency_reliability)
        ) AS trans
    FROM call_gaps_now g
    JOIN randomize_worlds w ON w.environment = g.environment AND w.trajectory_id = g.trajectory_id
    WHERE g.api IS NOT NULL
    GROUP BY w.perturbation, w.intensity, g.api
)
SELECT perturbation, intensity, api, calls, trajectories,
       coalesce(obs, 0.0) AS obs, coalesce(act, 0.0) AS act, coalesce(trans, 0.0) AS trans
FROM cells
ORDER BY perturbation, intensity, api
