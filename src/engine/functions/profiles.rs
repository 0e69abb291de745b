//! From the calls of a trajectory to its profile and its weight.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int32Type};
use datafusion::common::Result;
use fidelake_core::gap::{Component, Gate, compose};
use fidelake_core::stats::{DecaySums, GAMMA, behavior_gap};

use super::aggregate::collecting;
use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    // turn, cause, then raw and reliability of obs, act and the components of trans.
    let mut arguments = vec![DataType::Int32, DataType::Utf8View];
    arguments.extend(vec![NUMBER; 2 * (2 + Component::ALL.len())]);
    vec![
        collecting(
            Doc {
                name: "profile_of",
                signature: "profile_of(turn int, cause text, obs_raw, obs_reliability, act_raw, act_reliability, outcome_raw, outcome_reliability, state_raw, state_reliability, idempotency_raw, idempotency_reliability, read_after_write_raw, read_after_write_reliability, latency_raw, latency_reliability) -> struct<obs, act, trans, all_obs, all_trans, trans_parts>",
                doc: "The gaps of one trajectory from the rows of its calls (columns of `call_gaps`), from its roots: calls explained by an earlier divergence count 0, later turns weigh more. `all_obs` and `all_trans` count every call. Latency counts all calls always. Null where nothing was measured.",
                example: "SELECT profile_of(t, 'structural', 0.5, 1.0, 0.0, 1.0, 0.0, 1.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)['obs'] AS obs FROM (VALUES (CAST(1 AS INT))) AS v(t)",
                gives: "0.5",
            },
            arguments,
            DataType::Struct(fields()),
            profile_of,
        ),
        collecting(
            Doc {
                name: "behavior_gap",
                signature: "behavior_gap(turn int, distance double) -> double",
                doc: "The unnormalised sum of distances along one trajectory, each weighing 0.95 per turn until its end. Long trajectories score higher, up to 20 for one call a turn. Null without a distance.",
                example: "SELECT behavior_gap(t, d) AS gap FROM (VALUES (CAST(1 AS INT), 1.0), (CAST(2 AS INT), 0.5)) AS v(t, d)",
                gives: "1.45",
            },
            vec![DataType::Int32, NUMBER],
            NUMBER,
            behavior,
        ),
        scalar(
            Doc {
                name: "fidelity_gate",
                signature: "fidelity_gate(fidelity double, alpha double, beta double) -> double",
                doc: "The weight of a trajectory, 0 to 1: 1 / (1 + exp(-alpha (fidelity - beta))). The gate `seed` has alpha 10 and beta 0.7 over fidelity_mean.",
                example: "SELECT fidelity_gate(0.7, 10, 0.7) AS weight",
                gives: "0.5",
            },
            vec![NUMBER; 3],
            NUMBER,
            gate,
        ),
    ]
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("obs", NUMBER, true),
        Field::new("act", NUMBER, true),
        Field::new("trans", NUMBER, true),
        Field::new("all_obs", NUMBER, true),
        Field::new("all_trans", NUMBER, true),
        Field::new("trans_parts", DataType::Utf8, true),
    ])
}

fn profile_of(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    const PARTS: usize = 2 + Component::ALL.len();

    let turns = columns[0].as_primitive::<Int32Type>();
    let causes = texts(&columns[1])?;
    let numbers: Vec<&Float64Array> = columns[2..].iter().map(|c| c.as_primitive()).collect();
    let mut gaps: [Vec<Option<f64>>; 5] = Default::default();
    let mut names = Vec::with_capacity(ends.len());
    for group in ends.windows(2) {
        let mut rows: Vec<usize> = (group[0]..group[1]).collect();
        let key = |row: usize, at: usize| {
            let column = numbers[at];
            column.is_valid(row).then(|| column.value(row).to_bits())
        };
        // The same sums whatever the order in which the rows came.
        rows.sort_by_cached_key(|&row| {
            let values: Vec<_> = (0..numbers.len()).map(|at| key(row, at)).collect();
            (turns.value(row), values)
        });
        // From the roots, and over all calls.
        let mut roots = [DecaySums::new(GAMMA); PARTS];
        let mut all = roots;
        for row in rows {
            let turn = i64::from(turns.value(row));
            let explained = text(&causes, row) == Some("state");
            for part in 0..PARTS {
                let (raw, reliability) = (numbers[2 * part], numbers[2 * part + 1]);
                if raw.is_null(row) || reliability.is_null(row) {
                    continue;
                }
                let (raw, reliability) = (raw.value(row), reliability.value(row));
                let latency = part == PARTS - 1;
                let own = if explained && !latency { 0.0 } else { raw };
                roots[part].add(turn, own, reliability, 0.0);
                all[part].add(turn, raw, reliability, 0.0);
            }
        }
        let [obs, act, parts @ ..] = roots.map(|sums| sums.delta().value());
        let [all_obs, _, all_parts @ ..] = all.map(|sums| sums.delta().value());
        let trans = compose(parts);
        let values = [obs, act, trans.trans, all_obs, compose(all_parts).trans];
        for (list, value) in gaps.iter_mut().zip(values) {
            list.push(value);
        }
        names.push((!trans.known.is_empty()).then(|| trans.known.join(",")));
    }
    let gaps = gaps.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let columns = gaps.into_iter().chain([names]).collect();
    column(StructArray::try_new(fields(), columns, None)?)
}

fn behavior(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let turns = columns[0].as_primitive::<Int32Type>();
    let distances = columns[1].as_primitive::<Float64Type>();
    let gap = |group: &[usize]| {
        let known =
            (group[0]..group[1]).filter(|&row| turns.is_valid(row) && distances.is_valid(row));
        let mut calls: Vec<(i64, f64)> = known
            .map(|row| (i64::from(turns.value(row)), distances.value(row)))
            .collect();
        calls.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        behavior_gap(calls, GAMMA)
    };
    column(ends.windows(2).map(gap).collect::<Float64Array>())
}

fn gate(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [fidelity, alpha, beta] = [0, 1, 2].map(|at| args[at].as_primitive::<Float64Type>());
    let weights = (0..fidelity.len()).map(|row| {
        let known = fidelity.is_valid(row) && alpha.is_valid(row) && beta.is_valid(row);
        let known = known && !(fidelity.value(row) + alpha.value(row) + beta.value(row)).is_nan();
        known.then(|| {
            let gate = Gate::Quantile {
                alpha: alpha.value(row),
                beta: beta.value(row),
            };
            gate.weight(fidelity.value(row))
        })
    });
    column(weights.collect::<Float64Array>())
}
