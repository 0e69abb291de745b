//! A live experiment for people.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use super::text::{number, ordering, range, table};
use crate::validate::{Live, LiveRank, LiveType};

/// The minds that have columns, in this order.
const MINDS: [&str; 5] = ["gold", "rebinding", "strict", "reader", "picker"];

/// All of it: what took part, the kinds, the correlations.
#[must_use]
pub fn draw(found: &Live) -> String {
    let mut out = String::new();
    benchmarks(&mut out, found);
    out.push('\n');
    kinds(&mut out, found);
    out.push('\n');
    ranks(&mut out, found);
    if !found.ordering.is_empty() {
        out.push('\n');
        ordering(&mut out, &found.ordering);
    }
    out.trim_end().to_owned()
}

fn benchmarks(out: &mut String, found: &Live) {
    for benchmark in &found.benchmarks {
        let why = benchmark.left_out.iter();
        let why: Vec<String> = why.map(|(why, n)| format!("{n}: {why}")).collect();
        let _ = writeln!(
            out,
            "{}: {} of {} tasks take part{}{}",
            benchmark.name,
            benchmark.used,
            benchmark.drawn,
            if why.is_empty() { "" } else { "; " },
            why.join("; ")
        );
    }
    let used: u64 = found.benchmarks.iter().map(|one| one.used).sum();
    let _ = writeln!(
        out,
        "experiment {}: {used} tasks, {} kinds, {} seeds, {} agents of which {} count; {} episodes, {} calls made, {} known from memory",
        found.id,
        found.types.len(),
        found.seeds.len(),
        found.agents.len(),
        found.independent.len(),
        found.plays,
        found.calls_made,
        found.calls_remembered
    );
}

fn kinds(out: &mut String, found: &Live) {
    let minds: Vec<&str> = MINDS
        .into_iter()
        .filter(|mind| {
            found
                .types
                .iter()
                .any(|kind| kind.by_mind.contains_key(*mind))
        })
        .collect();
    let mut head = vec![
        "kind", "n", "harm", "se", "of all", "se", "1 - f", "decision", "obs", "act", "trans",
        "surface",
    ];
    head.extend(&minds);
    let rows: Vec<Vec<String>> = found
        .types
        .iter()
        .map(|kind| {
            let tied = if kind.tied { " =" } else { "" };
            let mut row = vec![format!("{}{tied}", kind.label), kind.n.to_string()];
            row.extend(
                [
                    kind.harm,
                    kind.harm_se,
                    kind.harm_all,
                    kind.harm_all_se,
                    kind.loss,
                    kind.decision,
                    kind.run_obs,
                    kind.run_act,
                    kind.trans,
                    kind.surface,
                ]
                .map(number),
            );
            let of_mind = |mind: &&str| number(kind.by_mind.get(*mind).copied().flatten());
            row.extend(minds.iter().map(of_mind));
            row
        })
        .collect();
    table(out, &head, &rows);
    let _ = writeln!(
        out,
        "harm: right on sim, wrong on real, mean of the agents that replay (gold, rebinding); `=`: under two standard errors, tied\nof all: of all agents that share no code with the probe (strict, reader as well). 1 - f: 1 - (1 - decision)(1 - obs)(1 - act)(1 - trans); verdicts are no part of it. Columns of minds: their own harm"
    );
    if !found.unfelt.is_empty() {
        let _ = writeln!(out, "who replays cannot feel {}", found.unfelt.join(", "));
    }
    if !found.unfelt_by_all.is_empty() {
        let _ = writeln!(
            out,
            "no agent here feels {}: nothing is said about what they do to others",
            found.unfelt_by_all.join(", ")
        );
    }
}

fn ranks(out: &mut String, found: &Live) {
    let head = [
        "agents",
        "seed",
        "rho",
        "95 % over tasks",
        "tau",
        "tied",
        "attainable",
        "untied",
        "decision",
        "surface",
        "picker",
    ];
    let row = |rank: &LiveRank| {
        vec![
            rank.agents.name().to_owned(),
            rank.seed.map_or("all".to_owned(), |seed| seed.to_string()),
            number(rank.spearman),
            range(rank.interval),
            number(rank.kendall),
            rank.tied.to_string(),
            number(rank.attainable),
            number(rank.spearman_as_measured),
            number(rank.spearman_decision),
            number(rank.spearman_surface),
            number(rank.spearman_picker),
        ]
    };
    let ranks = found.replay.iter().chain(&found.all);
    table(out, &head, &ranks.map(row).collect::<Vec<_>>());
    let _ = writeln!(
        out,
        "rho: rank correlation of harm and 1 - f over the kinds; attainable: the best that any score reaches against so many ties\nbeside it: with ties as measured, of the decision gap alone, of the surface gap, and of 1 - f with the picker's own harm (it reads as the probe does: circular)"
    );
}

/// One row per kind, columns as in the JSON.
///
/// # Errors
/// If Arrow refuses the columns.
pub fn batch(found: &Live) -> Result<RecordBatch, ArrowError> {
    type Of = fn(&LiveType) -> Option<f64>;
    const NUMBERS: [(&str, Of); 11] = [
        ("harm", |k| k.harm),
        ("harm_se", |k| k.harm_se),
        ("harm_all", |k| k.harm_all),
        ("harm_all_se", |k| k.harm_all_se),
        ("net", |k| k.net),
        ("loss", |k| k.loss),
        ("decision", |k| k.decision),
        ("run_obs", |k| k.run_obs),
        ("run_act", |k| k.run_act),
        ("trans", |k| k.trans),
        ("surface", |k| k.surface),
    ];

    let kinds = &found.types;
    let texts = |of: fn(&LiveType) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(kinds.iter().map(of)))
    };
    let counts = kinds.iter().map(|kind| kind.n);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("label", texts(|kind| &kind.label)),
        ("dimension", texts(|kind| &kind.dimension)),
        ("n", Arc::new(UInt64Array::from_iter_values(counts))),
    ];
    for (name, of) in NUMBERS {
        let numbers: Float64Array = kinds.iter().map(of).collect();
        columns.push((name, Arc::new(numbers)));
    }
    let tied: BooleanArray = kinds.iter().map(|kind| Some(kind.tied)).collect();
    columns.push(("tied", Arc::new(tied)));
    RecordBatch::try_from_iter(columns)
}
