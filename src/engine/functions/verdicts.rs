//! Differences of what judges said.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int32Type};
use datafusion::common::Result;
use fidelake_core::gap::{Corrected, Judged, Verdict, verdict_gap, verdicts_gap};
use fidelake_core::json::{Doc as Json, Node};
use fidelake_core::model::Arm;

use super::aggregate::collecting;
use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const INT: DataType = DataType::Int32;
const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        scalar(
            Doc {
                name: "verdict_distance",
                signature: "verdict_distance(reward_a double, success_a boolean, criteria_a text, reward_b double, success_b boolean, criteria_b text) -> double",
                doc: "How far apart two verdicts of one judge are, 0 to 1: the mean of the known ones of reward (in units of 1), success and criteria. Null if nothing can be compared.",
                example: "SELECT verdict_distance(1.0, true, NULL, 0.0, false, NULL) AS d",
                gives: "1.0",
            },
            [
                [NUMBER, DataType::Boolean, TEXT],
                [NUMBER, DataType::Boolean, TEXT],
            ]
            .concat(),
            NUMBER,
            distance,
        ),
        collecting(
            Doc {
                name: "verdicts_gap",
                signature: "verdicts_gap(arm text, repeat int, judge text, reward double, success boolean, criteria text, sim_0 int, sim_1 int, real_0 int, real_1 int) -> struct<distance, raw, reliability, noise, distance_00, distance_11>",
                doc: "How far apart the arms of one trajectory are in what judges say: the mean distance of verdicts, and what is left of it once the judges' own disagreement is taken off. The same judge is compared with himself where each arm was judged twice by one; else different judges of one run are the noise. `sim_0` to `real_1` are the first two repeats of each arm.",
                example: "SELECT verdicts_gap(arm, z, 'j', r, NULL, NULL, z, NULL, z, NULL)['distance'] AS d FROM (VALUES ('sim', 1.0, CAST(0 AS INT)), ('real', 0.25, CAST(0 AS INT))) AS t(arm, r, z)",
                gives: "0.75",
            },
            vec![
                TEXT,
                INT,
                TEXT,
                NUMBER,
                DataType::Boolean,
                TEXT,
                INT,
                INT,
                INT,
                INT,
            ],
            DataType::Struct(fields()),
            gap,
        ),
    ]
}

fn distance(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (criteria_a, criteria_b) = (texts(&args[2])?, texts(&args[5])?);
    let reward = |at: usize, row: usize| {
        let rewards = args[at].as_primitive::<Float64Type>();
        rewards.is_valid(row).then(|| rewards.value(row))
    };
    let success = |at: usize, row: usize| {
        let values = args[at].as_boolean();
        values.is_valid(row).then(|| values.value(row))
    };
    let values = (0..criteria_a.len()).map(|row| {
        let docs =
            [&criteria_a, &criteria_b].map(|c| text(c, row).and_then(|t| Json::parse(t).ok()));
        let (a, b) = (scores(docs[0].as_ref()), scores(docs[1].as_ref()));
        let a: Vec<(&str, f64)> = a.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        let b: Vec<(&str, f64)> = b.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        let left = Judged {
            reward: reward(0, row),
            success: success(1, row),
            criteria: &a,
        };
        let right = Judged {
            reward: reward(3, row),
            success: success(4, row),
            criteria: &b,
        };
        verdict_gap(&left, &right, 1.0).map(|gap| gap.distance)
    });
    column(values.collect::<arrow::array::Float64Array>())
}

fn fields() -> Fields {
    let number = |name: &str| Field::new(name, NUMBER, true);
    Fields::from(vec![
        number("distance"),
        number("raw"),
        number("reliability"),
        Field::new("noise", DataType::Utf8, true),
        number("distance_00"),
        number("distance_11"),
    ])
}

/// The criteria that are numbers, or yes and no.
fn scores(doc: Option<&Json<'_>>) -> Vec<(String, f64)> {
    let score = |value: Node<'_>| {
        let flag = value.as_bool().map(|b| f64::from(u8::from(b)));
        flag.or_else(|| value.as_f64())
    };
    let Some(doc) = doc else { return Vec::new() };
    let entries = doc.root().entries();
    entries
        .filter_map(|(key, value)| Some((key.to_owned(), score(value)?)))
        .collect()
}

/// One row of `verdicts`.
struct Row<'a> {
    arm: Arm,
    repeat: i32,
    judge: &'a str,
    reward: Option<f64>,
    success: Option<bool>,
    scores: Vec<(String, f64)>,
}

fn gap(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let mut numbers: [Vec<Option<f64>>; 5] = Default::default();
    let mut labels = Vec::with_capacity(ends.len());
    let int = |at: usize, row: usize| {
        let column = columns[at].as_primitive::<Int32Type>();
        (row < column.len() && column.is_valid(row)).then(|| column.value(row))
    };
    let (arms, judges, criteria) = (
        texts(&columns[0])?,
        texts(&columns[2])?,
        texts(&columns[5])?,
    );
    let (rewards, successes) = (
        columns[3].as_primitive::<Float64Type>(),
        columns[4].as_boolean(),
    );
    for group in ends.windows(2) {
        let mut rows: Vec<Row<'_>> = (group[0]..group[1])
            .filter_map(|row| {
                let doc = text(&criteria, row).and_then(|t| Json::parse(t).ok());
                Some(Row {
                    arm: Arm::parse(text(&arms, row)?)?,
                    repeat: int(1, row)?,
                    judge: text(&judges, row).unwrap_or_default(),
                    reward: rewards.is_valid(row).then(|| rewards.value(row)),
                    success: successes.is_valid(row).then(|| successes.value(row)),
                    scores: scores(doc.as_ref()),
                })
            })
            .collect();
        // The same sums whatever the order in which the rows came.
        rows.sort_by(|a, b| {
            let place = |r: &Row<'_>| (r.arm, r.repeat, r.judge.to_owned(), r.success);
            let reward = |r: &Row<'_>| r.reward.unwrap_or(f64::NEG_INFINITY);
            place(a)
                .cmp(&place(b))
                .then(reward(a).total_cmp(&reward(b)))
        });
        let first = |at: usize| int(at, group[0]);
        let [sim_0, sim_1, real_0, real_1] = [6, 7, 8, 9].map(first);
        let whole = compare(&rows, |_| true);
        let pair = |sim: Option<i32>, real: Option<i32>| {
            let (sim, real) = sim.zip(real)?;
            compare(&rows, |row| {
                row.repeat == if row.arm == Arm::Sim { sim } else { real }
            })
        };
        let values = [
            whole.map(|f| f.distance),
            whole.map(|f| f.gap_raw),
            whole.map(|f| f.reliability),
            pair(sim_0, real_0).map(|f| f.distance),
            pair(sim_1, real_1).map(|f| f.distance),
        ];
        for (list, value) in numbers.iter_mut().zip(values) {
            list.push(value);
        }
        labels.push(whole.map(|f| f.noise.name()));
    }
    let [distance, raw, reliability, first, second] =
        numbers.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    let labels: ArrayRef = Arc::new(StringArray::from(labels));
    let columns = vec![distance, raw, reliability, labels, first, second];
    column(StructArray::try_new(fields(), columns, None)?)
}

/// The corrected distance over the rows that count.
fn compare(rows: &[Row<'_>], counts: impl Fn(&Row<'_>) -> bool) -> Option<Corrected> {
    let scores: Vec<Vec<(&str, f64)>> = rows
        .iter()
        .map(|row| row.scores.iter().map(|(k, v)| (k.as_str(), *v)).collect())
        .collect();
    let verdict = |at: usize| Verdict {
        judge: rows[at].judge,
        judged: Judged {
            reward: rows[at].reward,
            success: rows[at].success,
            criteria: &scores[at],
        },
        scale: 1.0,
    };
    let runs = |arm: Arm| -> Vec<Vec<Verdict<'_>>> {
        let of_arm: Vec<usize> = (0..rows.len())
            .filter(|&at| rows[at].arm == arm && counts(&rows[at]))
            .collect();
        of_arm
            .chunk_by(|&a, &b| rows[a].repeat == rows[b].repeat)
            .map(|run| run.iter().map(|&at| verdict(at)).collect())
            .collect()
    };
    let (sim, real) = (runs(Arm::Sim), runs(Arm::Real));
    let sim: Vec<&[Verdict<'_>]> = sim.iter().map(Vec::as_slice).collect();
    let real: Vec<&[Verdict<'_>]> = real.iter().map(Vec::as_slice).collect();
    verdicts_gap(&sim, &real)
}
