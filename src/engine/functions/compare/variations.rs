//! `run_variations`: what varies between the runs of one arm.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBuilder, ListArray, StringBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use fidelake_core::gap::{Comparer, variations};

use super::input::Input;
use crate::engine::functions::aggregate::collecting;
use crate::engine::functions::{Doc, Function};

const DOC: Doc = Doc {
    name: "run_variations",
    signature: "run_variations(... as compare_runs) -> list<struct<api, arm, path, same_shape, floats, reordered>>",
    doc: "What varies between the runs of one arm of one trajectory, at calls that ended alike: the path (`$.items[*].id`), and whether the two values have one shape, are numbers with a fraction, or are the same elements in another order. What `fidelake learn` learns content classes from.",
    example: r#"SELECT run_variations('e', CAST(1 AS BIGINT), 'sim', z, CAST(0 AS INT), CAST(0 AS INT), 'f', 'x', '{}', answer, NULL, 'json', false, 'ok', NULL, NULL, NULL, CAST(0 AS INT), CAST(1 AS INT), NULL, NULL)[1]['path'] AS path FROM (VALUES ('{"id":"a1"}', CAST(0 AS INT)), ('{"id":"b7"}', CAST(1 AS INT))) AS t(answer, z)"#,
    gives: "$.id",
};

/// The function; its arguments are those of `compare_runs`.
pub(in crate::engine::functions) fn function() -> Function {
    collecting(DOC, super::arguments(), list_type(), compute)
}

fn fields() -> Fields {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let flag = |name: &str| Field::new(name, DataType::Boolean, true);
    Fields::from(vec![
        text("api"),
        text("arm"),
        text("path"),
        flag("same_shape"),
        flag("floats"),
        flag("reordered"),
    ])
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Struct(fields()), true))
}

fn list_type() -> DataType {
    DataType::List(item())
}

fn compute(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let input = Input::new(columns)?;
    let mut texts: [StringBuilder; 3] = Default::default();
    let mut flags: [BooleanBuilder; 3] = std::array::from_fn(|_| BooleanBuilder::new());
    let mut lengths = Vec::with_capacity(ends.len());
    let mut comparer = Comparer::default();
    for group in ends.windows(2) {
        let calls: Vec<_> = (group[0]..group[1])
            .filter_map(|row| input.call(row))
            .collect();
        let mut found = 0;
        variations(&calls, &mut comparer, |variation| {
            found += 1;
            let words = [variation.api, variation.arm.as_str(), &variation.path];
            for (builder, word) in texts.iter_mut().zip(words) {
                builder.append_value(word);
            }
            let how = variation.how;
            for (builder, flag) in flags
                .iter_mut()
                .zip([how.same_shape, how.floats, how.order])
            {
                builder.append_value(flag);
            }
        });
        lengths.push(found);
    }
    let texts = texts.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
    let flags = flags.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
    let rows = StructArray::try_new(fields(), texts.chain(flags).collect(), None)?;
    let ends = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        item(),
        ends,
        Arc::new(rows),
        None,
    )?))
}
