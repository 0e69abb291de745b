//! The SQL behind each dimension.
//!
//! Every query gives the columns of `by` first, then `calls`, `measured`,
//! `trajectories` and `amount` (what shares are shares of), then the gap: `gap`,
//! `low`, `high`, or the sums from which [`super::transition`] makes them.

use std::fmt::Write as _;

use super::Dimension;
use super::columns::quoted;
use super::transition::{COMPONENTS, SUMS};

pub(super) fn sql(dimension: Dimension, by: &[String], view: &str, filter: Option<&str>) -> String {
    let by = by
        .iter()
        .map(|name| quoted(name))
        .collect::<Vec<_>>()
        .join(", ");
    let from = match filter {
        // On lines of its own: it may end in a comment.
        Some(filter) => format!("{view}\nWHERE (\n{filter}\n)"),
        None => view.to_owned(),
    };
    match dimension {
        Dimension::Obs => region(&by, &from, "obs", &of_calls("obs")),
        Dimension::Act => region(&by, &from, "act", &of_calls("act")),
        // One row, one weight per trajectory.
        Dimension::Rew => {
            let gap = "gap_region(trajectory_key, 1.0, rew_raw, rew_reliability)";
            region(&by, &from, "rew", &Region::new("1.0", "sum(calls)", gap))
        }
        Dimension::Trans => transition(&by, &from),
        Dimension::All => all(&by, &from),
    }
}

/// How the rows of a dimension are weighed, counted and summed up.
struct Region {
    weight: &'static str,
    calls: &'static str,
    gap: String,
}

impl Region {
    fn new(weight: &'static str, calls: &'static str, gap: impl Into<String>) -> Self {
        let gap = gap.into();
        Self { weight, calls, gap }
    }
}

/// Calls may borrow the noise of an arm.
fn of_calls(name: &str) -> Region {
    let gap = format!(
        "gap_region_learned(
            trajectory_key, weight, {name}_raw, {name}_reliability, api, {name}_noise_sim, {name}_noise_real
        )"
    );
    Region::new("weight", "count(*)", gap)
}

fn region(by: &str, from: &str, name: &str, region: &Region) -> String {
    let Region { weight, calls, gap } = region;
    format!(
        "SELECT {by}, calls, measured, trajectories, amount, r['gap'] AS gap, r['low'] AS low, r['high'] AS high
FROM (
    SELECT {by},
        CAST({calls} AS BIGINT) AS calls,
        count({name}_raw) AS measured,
        count(DISTINCT CASE WHEN {name}_raw IS NOT NULL THEN trajectory_key END) AS trajectories,
        exact_sum({weight} * {name}_raw) AS amount,
        {gap} AS r
    FROM {from}
    GROUP BY {by}
) AS cells"
    )
}

/// Sums per trajectory, then per cell: enough for the composed gap and its
/// standard error in one pass over the calls.
fn transition(by: &str, from: &str) -> String {
    let mut inner = String::new();
    for name in COMPONENTS {
        let known = |value: &str| format!("CASE WHEN {name}_raw IS NOT NULL THEN {value} END");
        let _ = write!(
            inner,
            ",\n        coalesce(exact_sum(weight * {name}_raw), 0.0) AS {name}_d,
        coalesce(exact_sum({}), 0.0) AS {name}_c,
        coalesce(exact_sum({}), 0.0) AS {name}_w",
            known(&format!("weight * {name}_reliability")),
            known("weight"),
        );
    }
    let mut outer = String::new();
    for name in COMPONENTS {
        let _ = write!(outer, ",\n    exact_sum({name}_w) AS {name}_w");
    }
    for name in SUMS {
        let _ = write!(outer, ",\n    exact_sum({name}) AS {name}");
    }
    for (at, a) in SUMS.iter().enumerate() {
        for b in &SUMS[at..] {
            let _ = write!(outer, ",\n    exact_sum({a} * {b}) AS {a}_{b}");
        }
    }
    let any = format!(
        "coalesce({})",
        COMPONENTS.map(|c| format!("{c}_raw")).join(", ")
    );
    format!(
        "SELECT {by},
    CAST(sum(calls) AS BIGINT) AS calls,
    CAST(sum(measured) AS BIGINT) AS measured,
    count(CASE WHEN measured > 0 THEN 1 END) AS trajectories,
    exact_sum(weight) AS amount{outer}
FROM (
    SELECT {by}, trajectory_key,
        count(*) AS calls,
        count({any}) AS measured,
        coalesce(exact_sum(CASE WHEN {any} IS NOT NULL THEN weight END), 0.0) AS weight{inner}
    FROM {from}
    GROUP BY {by}, trajectory_key
) AS trajectories
GROUP BY {by}"
    )
}

fn all(by: &str, from: &str) -> String {
    let ratio = |name: &str| format!("gap_ratio(weight, {name}_raw, {name}_reliability)");
    let any = "coalesce(obs_raw, act_raw, outcome_raw, state_raw, idempotency_raw, read_after_write_raw, latency_raw)";
    let together = "1 - (1 - coalesce(obs, 0)) * (1 - coalesce(act, 0)) * (1 - coalesce(trans, 0))";
    format!(
        "SELECT {by}, calls, measured, trajectories, gap * weight AS amount, gap, obs, act, trans
FROM (
    SELECT *, CASE WHEN coalesce(obs, act, trans) IS NOT NULL THEN {together} END AS gap
    FROM (
        SELECT {by},
            count(*) AS calls,
            count({any}) AS measured,
            count(DISTINCT CASE WHEN {any} IS NOT NULL THEN trajectory_key END) AS trajectories,
            exact_sum(CASE WHEN {any} IS NOT NULL THEN weight END) AS weight,
            {} AS obs,
            {} AS act,
            trans_gap({}, {}, {}, {}, {}) AS trans
        FROM {from}
        GROUP BY {by}
    ) AS sums
) AS cells",
        ratio("obs"),
        ratio("act"),
        ratio("outcome"),
        ratio("state"),
        ratio("idempotency"),
        ratio("read_after_write"),
        ratio("latency"),
    )
}
