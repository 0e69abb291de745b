//! The cells of a slice, in order, and as rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray as _, Float64Array, Int64Array, RecordBatch, UInt32Array,
};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::error::ArrowError;
use fidelake_core::stats::ExactSum;

use super::transition::{COMPONENTS, Estimate, SUMS, Sums};
use super::{Dimension, Slice, SliceError};

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Its values of the columns sliced by, as text.
    pub key: Vec<Option<String>>,
    /// The gap in `[0,1]`; null: not measured, or drowned in noise.
    pub gap: Option<f64>,
    /// 95 % interval.
    pub low: Option<f64>,
    /// 95 % interval.
    pub high: Option<f64>,
    /// `obs`, `act` and `trans`, where all were asked for.
    pub parts: [Option<f64>; 3],
    /// Calls.
    pub calls: i64,
    /// Calls that say something of this gap.
    pub measured: i64,
    /// Trajectories of the measured calls.
    pub trajectories: i64,
    /// Part of the whole gap.
    pub share_gap: Option<f64>,
    /// Part of all calls.
    pub share_calls: Option<f64>,
    amount: f64,
}

/// The answer: cells, the largest part of the whole gap first.
#[derive(Clone, Debug)]
pub struct Sliced {
    /// The columns sliced by.
    pub by: Vec<String>,
    /// The cells that are shown.
    pub cells: Vec<Cell>,
    /// Cells with too few calls.
    pub left_out: usize,
    dimension: Dimension,
    /// Columns of the keys, in the order of `cells`.
    keys: Vec<ArrayRef>,
}

impl Sliced {
    pub(super) fn new(batch: &RecordBatch, slice: &Slice) -> Result<Self, SliceError> {
        let width = slice.by.len();
        let keys = (0..width)
            .map(|at| texts(batch, at))
            .collect::<Result<Vec<_>, _>>()?;
        let mut cells = Vec::with_capacity(batch.num_rows());
        let number = |name: &str| numbers(batch, name);
        let (calls, measured, trajectories) = (
            integers(batch, "calls")?,
            integers(batch, "measured")?,
            integers(batch, "trajectories")?,
        );
        let amounts = number("amount")?;
        let estimates = estimates(batch, slice.dimension, &trajectories)?;
        let parts = match slice.dimension {
            Dimension::All => Some([number("obs")?, number("act")?, number("trans")?]),
            _ => None,
        };
        for row in 0..batch.num_rows() {
            let Estimate { gap, interval } = estimates[row];
            let amount = amounts[row].unwrap_or(0.0);
            cells.push(Cell {
                key: keys.iter().map(|column| column[row].clone()).collect(),
                gap,
                low: interval.map(|(low, _)| low),
                high: interval.map(|(_, high)| high),
                parts: parts
                    .as_ref()
                    .map_or([None; 3], |p| [p[0][row], p[1][row], p[2][row]]),
                calls: calls[row],
                measured: measured[row],
                trajectories: trajectories[row],
                amount: if slice.dimension == Dimension::Trans {
                    gap.unwrap_or(0.0) * amount
                } else {
                    amount
                },
                ..Cell::default()
            });
        }
        share(&mut cells);
        let mut order: Vec<usize> = (0..cells.len())
            .filter(|&at| cells[at].measured >= slice.min_calls)
            .collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&cells[a], &cells[b]);
            b.amount
                .total_cmp(&a.amount)
                .then(b.calls.cmp(&a.calls))
                .then_with(|| a.key.cmp(&b.key))
        });
        let rows: UInt32Array = order.iter().map(|&at| u32::try_from(at).ok()).collect();
        let take = |at: usize| arrow::compute::take(batch.column(at), &rows, None);
        Ok(Self {
            by: slice.by.clone(),
            keys: (0..width).map(take).collect::<Result<_, _>>()?,
            left_out: cells.len() - order.len(),
            cells: order.iter().map(|&at| cells[at].clone()).collect(),
            dimension: slice.dimension,
        })
    }

    /// The cells as rows; numbers rounded to so many places, if any.
    ///
    /// # Errors
    /// Never for cells of one query.
    pub fn batch(&self, places: Option<i32>) -> Result<RecordBatch, SliceError> {
        let float = |pick: &dyn Fn(&Cell) -> Option<f64>| -> ArrayRef {
            let rounded = |x: f64| match places {
                Some(places) => (x * 10f64.powi(places)).round() / 10f64.powi(places) + 0.0,
                None => x,
            };
            Arc::new(
                self.cells
                    .iter()
                    .map(|cell| pick(cell).map(rounded))
                    .collect::<Float64Array>(),
            )
        };
        let integer = |pick: &dyn Fn(&Cell) -> i64| -> ArrayRef {
            Arc::new(
                self.cells
                    .iter()
                    .map(|cell| Some(pick(cell)))
                    .collect::<Int64Array>(),
            )
        };
        let mut columns: Vec<(&str, ArrayRef)> = self
            .by
            .iter()
            .map(String::as_str)
            .zip(self.keys.iter().cloned())
            .collect();
        columns.push(("gap", float(&|c| c.gap)));
        if self.dimension == Dimension::All {
            columns.push(("gap_obs", float(&|c| c.parts[0])));
            columns.push(("gap_act", float(&|c| c.parts[1])));
            columns.push(("gap_trans", float(&|c| c.parts[2])));
        } else {
            columns.push(("low", float(&|c| c.low)));
            columns.push(("high", float(&|c| c.high)));
        }
        columns.push(("calls", integer(&|c| c.calls)));
        columns.push(("measured", integer(&|c| c.measured)));
        columns.push(("trajectories", integer(&|c| c.trajectories)));
        columns.push(("share_gap", float(&|c| c.share_gap)));
        columns.push(("share_calls", float(&|c| c.share_calls)));
        let nullable = columns
            .into_iter()
            .map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(nullable)?)
    }
}

/// Gap and interval of each row: given, or made of sums.
fn estimates(
    batch: &RecordBatch,
    dimension: Dimension,
    trajectories: &[i64],
) -> Result<Vec<Estimate>, SliceError> {
    if dimension != Dimension::Trans {
        let gap = numbers(batch, "gap")?;
        let none = || vec![None; batch.num_rows()];
        let bound = |name| {
            if dimension == Dimension::All {
                Ok(none())
            } else {
                numbers(batch, name)
            }
        };
        let intervals = bound("low")?.into_iter().zip(bound("high")?);
        return Ok(gap
            .into_iter()
            .zip(intervals)
            .map(|(gap, (low, high))| Estimate {
                gap,
                interval: low.zip(high),
            })
            .collect());
    }
    let mut sums: Vec<Sums> = trajectories
        .iter()
        .map(|&trajectories| Sums {
            trajectories,
            ..Sums::default()
        })
        .collect();
    let mut fill = |name: String, put: &dyn Fn(&mut Sums, f64)| -> Result<(), SliceError> {
        let values = numbers(batch, &name)?;
        sums.iter_mut()
            .zip(values)
            .for_each(|(sums, value)| put(sums, value.unwrap_or(0.0)));
        Ok(())
    };
    for (k, name) in COMPONENTS.iter().enumerate() {
        fill(format!("{name}_w"), &|s, v| s.w[k] = v)?;
    }
    for (a, left) in SUMS.iter().enumerate() {
        fill((*left).to_owned(), &|s, v| s.sums[a] = v)?;
        for (b, right) in SUMS.iter().enumerate().skip(a) {
            fill(format!("{left}_{right}"), &|s, v| s.products[a][b] = v)?;
        }
    }
    Ok(sums.iter().map(Sums::estimate).collect())
}

fn share(cells: &mut [Cell]) {
    let whole = cells.iter().map(|c| c.amount).collect::<ExactSum>().value();
    let calls: i64 = cells.iter().map(|c| c.calls).sum();
    for cell in cells {
        // What was not measured has no known share.
        cell.share_gap = (whole > 0.0 && cell.measured > 0).then(|| cell.amount / whole);
        cell.share_calls = (calls > 0).then(|| cell.calls as f64 / calls as f64);
    }
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, SliceError> {
    let missing = || ArrowError::SchemaError(format!("the query gives no column {name}"));
    Ok(batch.column_by_name(name).ok_or_else(missing)?)
}

fn numbers(batch: &RecordBatch, name: &str) -> Result<Vec<Option<f64>>, SliceError> {
    let column = arrow::compute::cast(column(batch, name)?, &DataType::Float64)?;
    Ok(column.as_primitive::<Float64Type>().iter().collect())
}

fn integers(batch: &RecordBatch, name: &str) -> Result<Vec<i64>, SliceError> {
    let column = arrow::compute::cast(column(batch, name)?, &DataType::Int64)?;
    Ok(column
        .as_primitive::<Int64Type>()
        .iter()
        .map(Option::unwrap_or_default)
        .collect())
}

/// A column as texts.
pub(super) fn texts(batch: &RecordBatch, at: usize) -> Result<Vec<Option<String>>, ArrowError> {
    let column = arrow::compute::cast(batch.column(at), &DataType::Utf8)?;
    let column = column.as_string::<i32>();
    Ok((0..column.len())
        .map(|row| column.is_valid(row).then(|| column.value(row).to_owned()))
        .collect())
}
