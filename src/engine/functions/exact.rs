//! Sums and means that do not depend on the order of their terms.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, Float64Builder, ListBuilder,
    UInt64Array,
};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, UInt64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use fidelake_core::stats::ExactSum;

use super::{Doc, Function};

pub(super) fn functions() -> Vec<Function> {
    let exact = |name: &'static str, mean: bool| {
        AggregateUDF::new_from_impl(Exact {
            name,
            mean,
            signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable),
        })
    };
    vec![
        Function::Aggregate(
            exact("exact_sum", false),
            Doc {
                name: "exact_sum",
                signature: "exact_sum(x double) -> double",
                doc: "The sum, correctly rounded: the same whatever the order of the rows. Null if there is no value.",
                example: "SELECT exact_sum(x) AS s FROM (VALUES (1e16), (1.0), (-1e16)) AS t(x)",
                gives: "1.0",
            },
        ),
        Function::Aggregate(
            exact("exact_mean", true),
            Doc {
                name: "exact_mean",
                signature: "exact_mean(x double) -> double",
                doc: "The mean from `exact_sum`. Null if there is no value.",
                example: "SELECT exact_mean(x) AS m FROM (VALUES (1.0), (2.0)) AS t(x)",
                gives: "1.5",
            },
        ),
    ]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    name: &'static str,
    mean: bool,
    signature: Signature,
}

impl AggregateUDFImpl for Exact {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(ExactState {
            mean: self.mean,
            sum: ExactSum::default(),
            n: 0,
        }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        _: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ExactGroups::new(self.mean)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![
            numbers_field(&format!("{}_parts", args.name)),
            Arc::new(Field::new(
                format!("{}_n", args.name),
                DataType::UInt64,
                true,
            )),
        ])
    }
}

/// A state field that holds a list of numbers.
fn numbers_field(name: &str) -> FieldRef {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    Arc::new(Field::new(name, DataType::List(item), true))
}

/// A list of numbers as one value.
fn numbers(parts: Vec<f64>) -> ScalarValue {
    SingleRowListArrayBuilder::new(Arc::new(Float64Array::from(parts)) as ArrayRef)
        .build_list_scalar()
}

#[derive(Debug)]
struct ExactState {
    mean: bool,
    sum: ExactSum,
    n: u64,
}

impl Accumulator for ExactState {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Float64Type>().iter().flatten() {
            self.sum.add(value);
            self.n += 1;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum.value();
        let value = if self.mean { sum / self.n as f64 } else { sum };
        Ok(ScalarValue::Float64((self.n > 0).then_some(value)))
    }

    fn size(&self) -> usize {
        std::mem::size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![
            numbers(self.sum.to_parts()),
            ScalarValue::UInt64(Some(self.n)),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (sum, n) in read_states(states) {
            self.sum.merge(&sum);
            self.n += n;
        }
        Ok(())
    }
}

/// Sums and counts, from states as they travel between operators.
fn read_states(states: &[ArrayRef]) -> impl Iterator<Item = (ExactSum, u64)> + '_ {
    let parts = states[0].as_list::<i32>();
    let counts = states[1].as_primitive::<UInt64Type>();
    (0..parts.len()).map(|row| {
        let list = parts.value(row);
        let values: Vec<f64> = list
            .as_primitive::<Float64Type>()
            .iter()
            .flatten()
            .collect();
        (ExactSum::from_parts(&values), counts.value(row))
    })
}

/// The same for many groups.
struct ExactGroups {
    mean: bool,
    sums: Vec<(ExactSum, u64)>,
}

impl ExactGroups {
    const fn new(mean: bool) -> Self {
        Self {
            mean,
            sums: Vec::new(),
        }
    }
}

impl GroupsAccumulator for ExactGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize_with(total_num_groups, Default::default);
        let values = values[0].as_primitive::<Float64Type>();
        for (row, &group) in group_indices.iter().enumerate() {
            let wanted = opt_filter.is_none_or(|w| w.is_valid(row) && w.value(row));
            if wanted && values.is_valid(row) {
                let (sum, n) = &mut self.sums[group];
                sum.add(values.value(row));
                *n += 1;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mean = self.mean;
        let values = emit_to
            .take_needed(&mut self.sums)
            .into_iter()
            .map(|(sum, n)| {
                let sum = sum.value();
                (n > 0).then(|| if mean { sum / n as f64 } else { sum })
            });
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut parts = ListBuilder::new(Float64Builder::new());
        let mut counts = Vec::new();
        for (sum, n) in emit_to.take_needed(&mut self.sums) {
            parts.values().append_slice(&sum.to_parts());
            parts.append(true);
            counts.push(n);
        }
        Ok(vec![
            Arc::new(parts.finish()),
            Arc::new(UInt64Array::from(counts)),
        ])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize_with(total_num_groups, Default::default);
        for ((sum, n), &group) in read_states(values).zip(group_indices) {
            let own = &mut self.sums[group];
            own.0.merge(&sum);
            own.1 += n;
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut each = Self::new(self.mean);
        let groups: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &groups, opt_filter, groups.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * (std::mem::size_of::<(ExactSum, u64)>() + 16)
    }
}
