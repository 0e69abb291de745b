//! A heat table: two columns of a slice against each other. The one file that
//! uses polars.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::error::ArrowError;
use polars::frame::PivotColumnNaming;
use polars::prelude::{
    Column, DataFrame, IntoLazy as _, PlSmallStr, PolarsError, by_name, element,
};
use unicode_width::UnicodeWidthStr as _;

use super::screen::{Ink, Screen, fit, padded};

/// Why a heat table could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HeatError {
    /// The frame.
    #[error("the heat table: {0}")]
    Frame(#[from] PolarsError),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Gaps by rows and columns, both in the order in which they first occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// What the rows are.
    pub of_rows: String,
    /// What the columns are.
    pub of_columns: String,
    rows: Vec<String>,
    columns: Vec<String>,
    /// `cells[row][column]`; null: no such cell, or its gap is not known.
    cells: Vec<Vec<Option<f64>>>,
    /// Places that have a cell at all.
    there: HashSet<(usize, usize)>,
}

/// A cell of [`Heat::new`]: row, column and gap.
pub type HeatCell = (Option<String>, Option<String>, Option<f64>);

/// How a missing value of a column is shown.
const NO_VALUE: &str = "-";

/// Widest label of a row, and of a column.
const LABEL: usize = 40;

/// A number needs this: `1.000`.
const NUMBER: usize = 5;

/// Backgrounds of the 256-colour palette, from no gap to a whole one; each
/// reads with black letters.
const SHADES: [u8; 7] = [194, 192, 228, 222, 216, 210, 203];

impl Heat {
    /// Turns cells into a table.
    ///
    /// # Errors
    /// If a cell occurs twice: a fault of this program.
    pub fn new(of_rows: &str, of_columns: &str, cells: &[HeatCell]) -> Result<Self, HeatError> {
        let (rows, row_codes) = coded(cells.iter().map(|c| c.0.as_deref()));
        let (columns, column_codes) = coded(cells.iter().map(|c| c.1.as_deref()));
        let there = row_codes
            .iter()
            .copied()
            .zip(column_codes.iter().copied())
            .collect();
        // Codes instead of names: a value may be called like a column of the frame.
        let names: Vec<String> = (0..columns.len()).map(|code| format!("c{code}")).collect();
        let on: Vec<&str> = column_codes
            .iter()
            .map(|&code| names[code].as_str())
            .collect();
        let row_codes: Vec<u32> = row_codes
            .iter()
            .filter_map(|&code| u32::try_from(code).ok())
            .collect();
        let gaps: Vec<Option<f64>> = cells.iter().map(|c| c.2).collect();
        let frame = DataFrame::new_infer_height(vec![
            Column::new("row".into(), row_codes),
            Column::new("on".into(), on),
            Column::new("gap".into(), gaps),
        ])?;
        let wanted = DataFrame::new_infer_height(vec![Column::new("on".into(), names.as_slice())])?;
        let pivoted = frame
            .lazy()
            .pivot(
                by_name(["on"], true, false),
                Arc::new(wanted),
                by_name(["row"], true, false),
                by_name(["gap"], true, false),
                element().first(),
                true,
                PlSmallStr::from_static("_"),
                PivotColumnNaming::Auto,
            )
            .collect()?;
        let mut table = vec![vec![None; columns.len()]; rows.len()];
        let order: Vec<Option<u32>> = pivoted.column("row")?.u32()?.iter().collect();
        for (at, name) in names.iter().enumerate() {
            for (row, gap) in order.iter().zip(pivoted.column(name)?.f64()?.iter()) {
                let row = row.and_then(|row| table.get_mut(usize::try_from(row).ok()?));
                if let Some(row) = row {
                    row[at] = gap;
                }
            }
        }
        Ok(Self {
            of_rows: of_rows.to_owned(),
            of_columns: of_columns.to_owned(),
            rows,
            columns,
            cells: table,
            there,
        })
    }

    /// The table as rows: the row's value, then one column of gaps per value of
    /// the other.
    ///
    /// # Errors
    /// Never for a table of [`Heat::new`].
    pub fn batch(&self) -> Result<RecordBatch, HeatError> {
        let labels: ArrayRef = Arc::new(StringArray::from_iter_values(&self.rows));
        let mut columns = vec![(self.of_rows.clone(), labels, true)];
        for (at, name) in self.columns.iter().enumerate() {
            let gaps: Float64Array = self.cells.iter().map(|row| row[at]).collect();
            columns.push((name.clone(), Arc::new(gaps), true));
        }
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }

    /// The table for people: `-` is a gap that is not known, a blank no cell.
    /// Where the screen is too narrow for all columns they follow in further
    /// blocks, with the rows that have cells there.
    #[must_use]
    pub fn draw(&self, screen: &Screen) -> String {
        let corner = format!("{} \\ {}", self.of_rows, self.of_columns);
        let labels = self.rows.iter().chain([&corner]);
        let left = labels.map(|label| fit(label, LABEL).width()).max();
        let left = left.unwrap_or(0).min(screen.width / 2);
        let heads: Vec<Head<'_>> = self.columns.iter().map(|name| Head::new(name)).collect();
        let widths: Vec<usize> = heads
            .iter()
            .map(|head| head.width().min(screen.width - left - 2))
            .collect();
        let mut out = String::new();
        let mut from = 0;
        while from < heads.len() {
            let mut used = left;
            let fits = widths[from..].iter().take_while(|&&width| {
                used += width + 2;
                used <= screen.width
            });
            let to = from + fits.count().max(1);
            if from > 0 {
                out.push('\n');
            }
            let tall = heads[from..to].iter().any(|head| head.above.is_some());
            for above in [true, false].into_iter().skip(usize::from(!tall)) {
                let mut line = padded(if above { "" } else { &corner }, left);
                for (head, &width) in heads[from..to].iter().zip(&widths[from..to]) {
                    let text = head.line(above);
                    let _ = write!(line, "  {}", right(&fit(text, width), width));
                }
                let _ = writeln!(out, "{}", screen.ink(Ink::Bold, line.trim_end()));
            }
            for (row, name) in self.rows.iter().enumerate() {
                if !(from..to).any(|at| self.there.contains(&(row, at))) {
                    continue;
                }
                let mut line = padded(name, left);
                for (at, width) in widths.iter().enumerate().take(to).skip(from) {
                    let there = self.there.contains(&(row, at));
                    let cell = there.then_some(self.cells[row][at]);
                    let _ = write!(line, " {}", shaded(cell, *width, screen));
                }
                let _ = writeln!(out, "{}", line.trim_end_matches(' '));
            }
            from = to;
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }
}

/// The head of a column; two outcomes stand above each other.
struct Head<'h> {
    above: Option<&'h str>,
    below: &'h str,
}

impl<'h> Head<'h> {
    fn new(name: &'h str) -> Self {
        const ARROW: &str = " ->";
        match name.split_once(" -> ") {
            Some((above, below)) => Self {
                above: name.get(..above.len() + ARROW.len()),
                below,
            },
            None => Self {
                above: None,
                below: name,
            },
        }
    }

    fn line(&self, above: bool) -> &'h str {
        if above {
            self.above.unwrap_or_default()
        } else {
            self.below
        }
    }

    fn width(&self) -> usize {
        let lines = [self.above.unwrap_or_default(), self.below];
        let widest = lines.map(|line| fit(line, LABEL).width()).into_iter().max();
        widest.unwrap_or(0).max(NUMBER)
    }
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

fn shaded(cell: Option<Option<f64>>, width: usize, screen: &Screen) -> String {
    let gap = match cell {
        None => return " ".repeat(width + 1),
        Some(None) => return format!(" {}", right(NO_VALUE, width)),
        Some(Some(gap)) => gap,
    };
    let text = right(&format!("{gap:.3}"), width);
    if !screen.colour {
        return format!(" {text}");
    }
    format!("\x1b[30;48;5;{}m {text}\x1b[0m", SHADES[shade(gap)])
}

/// The shade of a gap, from 0 to 6. Small gaps matter: the square root spreads them.
#[must_use]
pub fn shade(gap: f64) -> usize {
    (gap.clamp(0.0, 1.0).sqrt() * (SHADES.len() - 1) as f64).round() as usize
}

/// The distinct values in the order of their first occurrence, and each cell's place among them.
fn coded<'v>(values: impl Iterator<Item = Option<&'v str>>) -> (Vec<String>, Vec<usize>) {
    let mut known: Vec<String> = vec![];
    let mut codes = HashMap::new();
    let places = values.map(|value| {
        *codes.entry(value).or_insert_with(|| {
            known.push(value.unwrap_or(NO_VALUE).to_owned());
            known.len() - 1
        })
    });
    let places = places.collect();
    (known, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat() -> Heat {
        let cell = |row: &str, column: Option<&str>, gap| {
            (Some(row.to_owned()), column.map(str::to_owned), gap)
        };
        let cells = [
            cell("book", Some("ok"), Some(0.25)),
            cell("book", Some("row"), None),
            cell("row\x1b[2J", None, Some(1.0)),
            cell("row\x1b[2J", Some("ok"), Some(0.0)),
        ];
        Heat::new("api", "outcome", &cells).unwrap()
    }

    #[test]
    fn cells_find_their_place() {
        let heat = heat();
        assert_eq!(heat.columns, ["ok", "row", "-"]);
        assert_eq!(
            heat.cells,
            [[Some(0.25), None, None], [Some(0.0), None, Some(1.0)]]
        );
        let batch = heat.batch().unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 4));
    }

    #[test]
    fn drawn_plainly_and_in_colour() {
        let plain = heat().draw(&Screen {
            width: 80,
            colour: false,
        });
        assert_eq!(
            plain,
            "api \\ outcome     ok    row      -\n\
             book           0.250      -\n\
             row\\u{1b}[2J   0.000         1.000"
        );
        let narrow = heat().draw(&Screen {
            width: 40,
            colour: false,
        });
        assert!(narrow.lines().all(|line| line.width() <= 40), "{narrow}");
        let coloured = heat().draw(&Screen {
            width: 80,
            colour: true,
        });
        assert!(
            coloured.contains("\x1b[30;48;5;203m 1.000\x1b[0m"),
            "{coloured}"
        );
        assert!(!coloured.contains("\x1b[2J"));
    }
}
