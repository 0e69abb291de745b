//! Rows as texts for people: what a query gives, made ready for a table.

use std::borrow::Cow;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::book::Answer;
use super::error::PageResult;
use crate::report::safe_lines;

/// Longest text of a cell, in characters; the rest is behind a link or in the file.
const LONGEST: usize = 240;

/// How the values of a column are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As it stands.
    Text,
    /// A time: it stays on one line.
    Time,
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// A gap: the darker, the wider.
    Gap,
    /// A share, in percent.
    Share,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Its name in the query.
    pub(super) name: String,
    /// How it is shown.
    pub(super) kind: Kind,
    /// Values as they stand, for links; null: none.
    values: Vec<Option<String>>,
    /// Numbers, where they are some.
    numbers: Vec<Option<f64>>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Grid {
    /// The rows of an answer.
    pub(super) fn of(answer: &Answer) -> PageResult<Self> {
        Self::of_batches(&answer.batches, &answer.schema)
    }

    /// The rows of batches with one schema.
    pub(super) fn of_batches(
        batches: &[RecordBatch],
        schema: &arrow::datatypes::SchemaRef,
    ) -> PageResult<Self> {
        let whole = arrow::compute::concat_batches(schema, batches)?;
        let fields = schema.fields().iter().zip(whole.columns());
        let columns = fields.map(|(field, column)| Column::of(field.name(), column));
        Ok(Self {
            columns: columns.collect::<PageResult<_>>()?,
            rows: whole.num_rows(),
        })
    }

    /// A value as it stands.
    pub(super) fn text(&self, row: usize, name: &str) -> Option<&str> {
        self.column(name)?.values.get(row)?.as_deref()
    }

    /// A number.
    pub(super) fn number(&self, row: usize, name: &str) -> Option<f64> {
        *self.column(name)?.numbers.get(row)?
    }

    /// A number that counts something; nothing counts as 0.
    pub(super) fn count(&self, row: usize, name: &str) -> f64 {
        self.number(row, name).unwrap_or(0.0)
    }

    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Column {
    fn of(name: &str, column: &ArrayRef) -> PageResult<Self> {
        let kind = kind(name, column.data_type());
        let numbers = if column.data_type().is_numeric() {
            let column = cast(column, &DataType::Float64)?;
            column.as_primitive::<Float64Type>().iter().collect()
        } else {
            vec![None; column.len()]
        };
        let options = FormatOptions::default()
            .with_timestamp_format(Some("%Y-%m-%d %H:%M"))
            .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M"));
        let formatter = ArrayFormatter::try_new(column, &options)?;
        let values = (0..column.len())
            .map(|row| {
                if column.is_null(row) {
                    return Ok(None);
                }
                formatter.value(row).try_to_string().map(Some)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            kind,
            values,
            numbers,
        })
    }

    /// A cell as it is shown.
    pub(super) fn shown(&self, row: usize) -> String {
        let Some(value) = self.values.get(row).and_then(Option::as_deref) else {
            return "–".to_owned();
        };
        let number = self.numbers.get(row).copied().flatten();
        match (self.kind, number) {
            (Kind::Count, Some(_)) => grouped(value),
            (Kind::Share, Some(x)) => percent(x),
            (Kind::Gap, Some(x)) => format!("{x:.3}"),
            (Kind::Number, Some(x)) if x.abs() >= 1000.0 => grouped(&format!("{x:.0}")),
            (Kind::Number, Some(x)) => format!("{x:.3}"),
            _ => short(value).into_owned(),
        }
    }

    /// The gap of a cell, where the column holds gaps.
    pub(super) fn gap(&self, row: usize) -> Option<f64> {
        let number = *self.numbers.get(row)?;
        number.filter(|_| self.kind == Kind::Gap)
    }
}

/// Columns of one name mean the same everywhere (docs/pages.md).
fn kind(name: &str, of: &DataType) -> Kind {
    if of.is_integer() {
        return match name {
            "turn" | "index" => Kind::Text,
            _ => Kind::Count,
        };
    }
    if of.is_temporal() {
        return Kind::Time;
    }
    if !of.is_numeric() {
        return Kind::Text;
    }
    if name.ends_with("share") || name.starts_with("share_") {
        return Kind::Share;
    }
    let gap = matches!(
        name,
        "gap" | "obs_gap" | "act_gap" | "trans_gap" | "value_loss"
    );
    if gap { Kind::Gap } else { Kind::Number }
}

/// A text that is safe to show and not too long.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => safe_lines(text),
        Some((at, _)) => Cow::Owned(format!("{}…", safe_lines(&text[..at]))),
    }
}

/// A share in percent.
pub(super) fn percent(x: f64) -> String {
    format!("{:.1} %", x * 100.0)
}

/// Digits in groups of three.
pub(super) fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |d| ("-", d));
    let mut out = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count, in groups of three.
pub(super) fn counted(number: f64) -> String {
    grouped(&format!("{number:.0}"))
}

/// The one number of a column of whole numbers, for callers that hold a batch.
pub(super) fn integer(batch: &RecordBatch, at: usize) -> Option<i64> {
    let column = cast(batch.columns().get(at)?, &DataType::Int64).ok()?;
    let column = column.as_primitive::<Int64Type>();
    (!column.is_empty() && column.is_valid(0)).then(|| column.value(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_for_people() {
        assert_eq!(grouped("1234567"), "1,234,567");
        assert_eq!(grouped("-123"), "-123");
        assert_eq!(grouped("12"), "12");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(short("a\u{202e}b\x1b"), "a\\u{202e}b\\u{1b}");
        assert_eq!(short(&"x".repeat(300)).chars().count(), LONGEST + 1);
    }
}
