//! Sums that do not depend on order, and the correction for noise.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use fidelake_core::gap::{ArmNoise, correct};
use fidelake_core::stats::ExactSum;

use super::scalar::texts;
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
        Function::Aggregate(
            AggregateUDF::new_from_impl(NoiseCorrected {
                signature: Signature::exact(
                    vec![DataType::Utf8View, DataType::Float64],
                    Volatility::Immutable,
                ),
            }),
            Doc {
                name: "noise_corrected",
                signature: "noise_corrected(pair text, distance double) -> struct<distance, raw, reliability, noise>",
                doc: "From the distances of pairs of runs (`sr` between the arms, `ss` and `rr` within them): the mean distance, the gap less the arms' own noise (unfloored), the reliability beside it, and where the noise comes from. Null without an `sr` pair.",
                example: "SELECT noise_corrected(p, d)['raw'] AS raw FROM (VALUES ('sr', 0.5), ('ss', 0.2), ('rr', 0.0)) AS t(p, d)",
                gives: "0.4",
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
pub(super) fn numbers_field(name: &str) -> FieldRef {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    Arc::new(Field::new(name, DataType::List(item), true))
}

/// A list of numbers as one value.
pub(super) fn numbers(parts: Vec<f64>) -> ScalarValue {
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
        let parts = states[0].as_list::<i32>();
        let counts = states[1].as_primitive::<arrow::datatypes::UInt64Type>();
        for row in 0..parts.len() {
            let list = parts.value(row);
            let values: Vec<f64> = list
                .as_primitive::<Float64Type>()
                .iter()
                .flatten()
                .collect();
            self.sum.merge(&ExactSum::from_parts(&values));
            self.n += counts.value(row);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct NoiseCorrected {
    signature: Signature,
}

impl PartialEq for NoiseCorrected {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NoiseCorrected {}

impl Hash for NoiseCorrected {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "noise_corrected".hash(state);
    }
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("distance", DataType::Float64, true),
        Field::new("raw", DataType::Float64, true),
        Field::new("reliability", DataType::Float64, true),
        Field::new("noise", DataType::Utf8, true),
    ])
}

impl AggregateUDFImpl for NoiseCorrected {
    fn name(&self) -> &str {
        "noise_corrected"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::<Pairs>::default())
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(["sr", "ss", "rr"]
            .iter()
            .map(|p| numbers_field(&format!("{}_{p}", args.name)))
            .collect())
    }
}

/// Distances by kind of pair. Sorted before use, so that order does not matter.
/// A pair without a distance is NaN: the arm was repeated, but its runs cannot be
/// compared here (they ended differently).
#[derive(Debug, Default)]
struct Pairs([Vec<f64>; 3]);

impl Pairs {
    /// What is known of one arm's noise, for an arm whose own pairs say nothing
    /// from the other arm: counting it as 0 would turn noise into gap.
    fn noise<'p>(own: &'p [f64], repeated: bool, other: &'p [f64]) -> Option<ArmNoise<'p>> {
        if !own.is_empty() || !repeated {
            return Some(ArmNoise::Own(own));
        }
        let level = fidelake_core::stats::mean(other)?;
        Some(ArmNoise::Learned(level))
    }
}

impl Accumulator for Pairs {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let pairs = texts(&values[0])?;
        for (pair, distance) in pairs.iter().zip(values[1].as_primitive::<Float64Type>()) {
            let Some(pair) = pair else { continue };
            let at = match pair {
                "sr" => 0,
                "ss" => 1,
                "rr" => 2,
                other => {
                    return datafusion::common::exec_err!(
                        "noise_corrected: no pair is called {other}"
                    );
                }
            };
            self.0[at].push(distance.unwrap_or(f64::NAN));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let known = |distances: &Vec<f64>| -> Vec<f64> {
            let mut known: Vec<f64> = distances.iter().copied().filter(|d| !d.is_nan()).collect();
            known.sort_by(f64::total_cmp);
            known
        };
        let [between, sim, real] = [0, 1, 2].map(|at| known(&self.0[at]));
        let noise = (
            Self::noise(&sim, !self.0[1].is_empty(), &real),
            Self::noise(&real, !self.0[2].is_empty(), &sim),
        );
        let found = match noise {
            (Some(sim), Some(real)) => correct(&between, sim, real),
            // Both arms disagree with themselves about how the call ends: the
            // answers say nothing about the worlds.
            _ => None,
        };
        let borrowed = |arm: &Option<ArmNoise<'_>>| matches!(arm, Some(ArmNoise::Learned(_)));
        let label = if borrowed(&noise.0) || borrowed(&noise.1) {
            found.map(|_| fidelake_core::gap::Noise::Unknown.name())
        } else {
            found.map(|f| f.noise.name())
        };
        let number = |value: Option<f64>| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
        let columns = vec![
            number(found.map(|f| f.distance)),
            number(found.map(|f| f.gap_raw)),
            number(found.map(|f| f.reliability)),
            Arc::new(StringArray::from(vec![label])) as ArrayRef,
        ];
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(
            fields(),
            columns,
            None,
        )?)))
    }

    fn size(&self) -> usize {
        std::mem::size_of_val(self) + self.0.iter().map(|v| v.capacity() * 8).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self
            .0
            .iter()
            .map(|distances| numbers(distances.clone()))
            .collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (distances, lists) in self.0.iter_mut().zip(states) {
            let lists = lists.as_list::<i32>();
            for row in 0..lists.len() {
                distances.extend(
                    lists
                        .value(row)
                        .as_primitive::<Float64Type>()
                        .iter()
                        .flatten(),
                );
            }
        }
        Ok(())
    }
}
