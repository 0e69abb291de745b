//! Along a trajectory: which divergence explains which, and what remains.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, Int32Array, StringArray,
    StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int32Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use fidelake_core::gap::{
    CallEvidence, Cause, Comparer, Corrected, Noise, along, causes, identifiers, is_refusal,
};
use fidelake_core::json::key::Key;
use fidelake_core::stats::GAMMA;

use super::aggregate::collecting;
use super::answers::stored;
use super::scalar::{text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const NUMBER: DataType = DataType::Float64;

/// Differing fields that are looked at for identifiers, per call.
const LOOKED_AT: usize = 200;

pub(super) fn functions() -> Vec<Function> {
    let side = [TEXT, TEXT, TEXT, DataType::Boolean, TEXT];
    let causes = [
        vec![DataType::Int32, TEXT, TEXT],
        side.to_vec(),
        side.to_vec(),
        vec![NUMBER, NUMBER, DataType::Boolean],
    ];
    vec![
        collecting(
            Doc {
                name: "call_causes",
                signature: "call_causes(slot, api, arguments, structured_sim, content_sim, rule_sim, truncated_sim, outcome_sim, structured_real, content_real, rule_real, truncated_real, outcome_real, obs_distance, state_distance, flaky) -> list<struct<slot, cause>>",
                doc: "The cause of each diverging call of one trajectory: `structural` (a root), `state` (explained by an earlier divergence), `flaky` (an arm disagrees with itself), `none`.",
                example: "SELECT call_causes(CAST(0 AS INT), 'f', '{}', '1', NULL, 'json', false, 'ok', '2', NULL, 'json', false, 'ok', 1.0, NULL, false)[1]['cause'] AS cause",
                gives: "structural",
            },
            causes.concat(),
            DataType::List(Arc::new(Field::new_list_field(
                DataType::Struct(cause_fields()),
                true,
            ))),
            call_causes,
        ),
        collecting(
            Doc {
                name: "gap_along",
                signature: "gap_along(turn int, cause text, distance double, raw double, reliability double) -> struct<delta, delta_root, delta_beh>",
                doc: "The gap along one trajectory, later turns weighing more (0.95 per turn): `delta` over all calls, `delta_root` without those that an earlier divergence explains, both 0 to 1; `delta_beh` is the unnormalised weighted sum of distances. Rows with a null are left out.",
                example: "SELECT gap_along(CAST(1 AS INT), 'structural', 0.5, 0.5, 1.0)['delta'] AS d",
                gives: "0.5",
            },
            vec![DataType::Int32, TEXT, NUMBER, NUMBER, NUMBER],
            DataType::Struct(along_fields()),
            gap_along,
        ),
    ]
}

fn cause_fields() -> Fields {
    Fields::from(vec![
        Field::new("slot", DataType::Int32, true),
        Field::new("cause", DataType::Utf8, true),
    ])
}

fn along_fields() -> Fields {
    ["delta", "delta_root", "delta_beh"]
        .iter()
        .map(|name| Field::new(*name, NUMBER, true))
        .collect()
}

/// What a diverging call owns for its evidence.
#[derive(Default)]
struct Owned {
    shape: Option<u64>,
    touched: Vec<u64>,
    changed: Vec<u64>,
}

fn call_causes(columns: &[ArrayRef]) -> Result<ScalarValue> {
    let slots = columns[0].as_primitive::<Int32Type>();
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|&row| slots.value(row));
    let names = texts(&columns[1])?;
    let (outcome_sim, outcome_real) = (texts(&columns[7])?, texts(&columns[12])?);
    let [distances, states] = [13, 14].map(|at| columns[at].as_primitive::<Float64Type>());
    let flaky = columns[15].as_boolean();
    let yes = |array: &BooleanArray, row: usize| array.is_valid(row) && array.value(row);
    let answered = |row| (text(&outcome_sim, row), text(&outcome_real, row));
    let differs = |row: usize| match answered(row) {
        (Some(a), Some(b)) if a == b => distances.is_valid(row) && distances.value(row) > 0.0,
        // Another outcome is another answer; a call that one arm lacks is none.
        (None, None) => false,
        _ => true,
    };
    let outcomes_differ = |row: usize| {
        let (a, b) = answered(row);
        a != b
    };
    let state = |row: usize| states.is_valid(row).then(|| states.value(row) > 0.0);
    let diverging = order
        .iter()
        .filter(|&&row| differs(row) || state(row) == Some(true))
        .count();
    let mut comparer = Comparer::default();
    let mut owned = Vec::with_capacity(order.len());
    for &row in &order {
        // A single divergence needs no explanation.
        let look = diverging > 1 && differs(row);
        owned.push(if look {
            evidence(columns, row, &mut comparer)?
        } else {
            Owned::default()
        });
    }
    let calls: Vec<CallEvidence<'_>> = order
        .iter()
        .zip(&owned)
        .map(|(&row, own)| CallEvidence {
            api: text(&names, row).unwrap_or_default(),
            answer_differs: differs(row),
            flaky: yes(flaky, row),
            outcome_differs: outcomes_differ(row),
            state_differs: state(row),
            mutates: None,
            shape: own.shape,
            touched: &own.touched,
            changed: &own.changed,
        })
        .collect();
    let found = causes(&calls);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(
            order.iter().map(|&row| slots.value(row)),
        )),
        Arc::new(StringArray::from_iter_values(
            found.iter().map(|cause| cause.name()),
        )),
    ];
    let rows = StructArray::try_new(cause_fields(), columns, None)?;
    Ok(SingleRowListArrayBuilder::new(Arc::new(rows)).build_list_scalar())
}

fn evidence(columns: &[ArrayRef], row: usize, comparer: &mut Comparer) -> Result<Owned> {
    let column = |at: usize| texts(&columns[at]);
    let answer = |at: usize| -> Result<_> {
        let (structured, content, rule) = (column(at)?, column(at + 1)?, column(at + 2)?);
        let cut = columns[at + 3].as_boolean();
        Ok((
            structured,
            content,
            rule,
            cut.is_valid(row) && cut.value(row),
        ))
    };
    let (a, b) = (answer(3)?, answer(8)?);
    let left = stored(text(&a.0, row), text(&a.1, row), text(&a.2, row), a.3);
    let right = stored(text(&b.0, row), text(&b.1, row), text(&b.2, row), b.3);
    let diff = comparer.diff(left, right, LOOKED_AT);
    let (outcomes, arguments) = ((column(7)?, column(12)?), column(2)?);
    let (sim, real) = (
        text(&outcomes.0, row).unwrap_or_default(),
        text(&outcomes.1, row).unwrap_or_default(),
    );
    let shape = if sim == real {
        diff.shape()
    } else if is_refusal(sim) != is_refusal(real) {
        Some(Key::of_parts(&[sim, real]).as_i64().cast_unsigned())
    } else {
        None
    };
    let mut changed = identifiers(text(&arguments, row).unwrap_or_default());
    let mut touched = changed.clone();
    touched.extend(identifiers(left.text));
    touched.extend(identifiers(right.text));
    changed.extend(diff.identifiers());
    Ok(Owned {
        shape,
        touched,
        changed,
    })
}

fn gap_along(columns: &[ArrayRef]) -> Result<ScalarValue> {
    let turns = columns[0].as_primitive::<Int32Type>();
    let cause = texts(&columns[1])?;
    let [distance, raw, reliability] =
        [2, 3, 4].map(|at| columns[at].as_primitive::<Float64Type>());
    let known =
        |row: &usize| raw.is_valid(*row) && reliability.is_valid(*row) && distance.is_valid(*row);
    let mut rows: Vec<(i64, Cause, Corrected)> = (0..turns.len())
        .filter(known)
        .map(|row| {
            let cause = match text(&cause, row) {
                Some("state") => Cause::State,
                Some("flaky") => Cause::Flaky,
                Some("structural") => Cause::Structural,
                _ => Cause::None,
            };
            let call = Corrected {
                distance: distance.value(row),
                gap_raw: raw.value(row),
                reliability: reliability.value(row),
                noise_sim: None,
                noise_real: None,
                noise: Noise::Unknown,
            };
            (i64::from(turns.value(row)), cause, call)
        })
        .collect();
    // The same sums whatever the order in which the rows came.
    rows.sort_by(|a, b| {
        (a.0, a.2.gap_raw, a.2.reliability)
            .partial_cmp(&(b.0, b.2.gap_raw, b.2.reliability))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let found = along(
        rows.iter().map(|(turn, cause, call)| (*turn, *cause, call)),
        GAMMA,
    );
    let number = |value: Option<f64>| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
    let columns = vec![
        number(found.delta.value()),
        number(found.delta_root.value()),
        number((!rows.is_empty()).then_some(found.delta_beh)),
    ];
    Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(
        along_fields(),
        columns,
        None,
    )?)))
}
