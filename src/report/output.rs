//! Rows for people and for programs.

use std::io::{self, IsTerminal as _, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use clap::ValueEnum;

use super::screen::{safe, safe_lines};

/// How data is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// A table for people.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// CSV with a header line.
    Csv,
    /// A Parquet file on standard output.
    Parquet,
}

/// Why data could not be printed.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Writing failed; a closed pipe is success for the caller.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// Parquet.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Parquet on a terminal.
    #[error("--format parquet writes bytes: send the output to a file or a pipe")]
    Terminal,
}

/// Writes rows in a format.
///
/// # Errors
/// If the rows cannot be written; a broken pipe comes as [`OutputError::Io`].
pub fn write_batches(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    format: OutputFormat,
    out: &mut dyn Write,
) -> Result<(), OutputError> {
    match format {
        OutputFormat::Table => {
            let options = FormatOptions::default().with_null("-");
            let shown = shown(schema, batches, &options)?;
            let table = arrow::util::pretty::pretty_format_batches_with_options(&shown, &options)?;
            writeln!(out, "{table}")?;
        }
        OutputFormat::Json | OutputFormat::Ndjson => {
            let builder = arrow::json::WriterBuilder::new().with_explicit_nulls(true);
            if format == OutputFormat::Json {
                let mut bytes = Vec::new();
                let mut writer = builder.build::<_, arrow::json::writer::JsonArray>(&mut bytes);
                writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
                writer.finish()?;
                if bytes.is_empty() {
                    bytes.extend_from_slice(b"[]");
                }
                out.write_all(&bytes)?;
                writeln!(out)?;
            } else {
                let mut lines = LineWriter::new(schema, format, out)?;
                batches.iter().try_for_each(|batch| lines.write(batch))?;
            }
        }
        OutputFormat::Csv => {
            let mut lines = LineWriter::new(schema, format, out)?;
            batches.iter().try_for_each(|batch| lines.write(batch))?;
        }
        OutputFormat::Parquet => {
            if io::stdout().is_terminal() {
                return Err(OutputError::Terminal);
            }
            let mut bytes = Vec::new();
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(&mut bytes, schema.clone(), None)?;
            for batch in batches {
                writer.write(batch)?;
            }
            writer.close()?;
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// Rows written as they come, in one of the formats that are made of lines.
#[derive(Debug)]
pub struct LineWriter<W> {
    out: W,
    csv: bool,
}

impl<W: Write> LineWriter<W> {
    /// Writes the head line of CSV; any other format is NDJSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(schema: &SchemaRef, format: OutputFormat, mut out: W) -> Result<Self, OutputError> {
        let csv = format == OutputFormat::Csv;
        if csv {
            let head = RecordBatch::new_empty(schema.clone());
            out.write_all(&csv_lines(&head, true)?)?;
        }
        Ok(Self { out, csv })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        if self.csv {
            self.out.write_all(&csv_lines(batch, false)?)?;
            return Ok(());
        }
        let mut bytes = Vec::new();
        let builder = arrow::json::WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, arrow::json::writer::LineDelimited>(&mut bytes);
        writer.write(batch)?;
        writer.finish()?;
        self.out.write_all(&bytes)?;
        Ok(())
    }

    /// Everything is written.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn finish(mut self) -> Result<(), OutputError> {
        Ok(self.out.flush()?)
    }
}

/// Written apart from the output, whose errors must stay what they are: a
/// closed pipe is no failure.
fn csv_lines(batch: &RecordBatch, head: bool) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut writer = arrow::csv::WriterBuilder::new()
        .with_header(head)
        .build(&mut bytes);
    writer.write(&flat(batch)?)?;
    drop(writer);
    Ok(bytes)
}

/// The cells as texts that are safe on a terminal: payloads are not trusted.
fn shown(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    options: &FormatOptions<'_>,
) -> Result<Vec<RecordBatch>, ArrowError> {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    let fields = schema.fields().iter();
    let texts = fields
        .map(|f| Field::new(safe(f.name()), DataType::Utf8, true))
        .collect::<Vec<_>>();
    let texts = Arc::new(Schema::new(texts));
    if batches.is_empty() {
        return Ok(vec![RecordBatch::new_empty(texts)]);
    }
    let cells = |column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        let formatter = arrow::util::display::ArrayFormatter::try_new(column, options)?;
        let rows = (0..column.len()).map(|row| {
            let text = formatter.value(row).try_to_string()?;
            Ok(Some(safe_lines(&text).into_owned()))
        });
        Ok(Arc::new(rows.collect::<Result<StringArray, ArrowError>>()?))
    };
    let batch = |batch: &RecordBatch| {
        let columns = batch
            .columns()
            .iter()
            .map(cells)
            .collect::<Result<Vec<_>, _>>()?;
        let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&texts), columns, &rows)
    };
    batches.iter().map(batch).collect()
}

/// CSV has no lists: they are written as JSON texts.
fn flat(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !field.data_type().is_nested() {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
            continue;
        }
        let options = FormatOptions::default();
        let formatter = arrow::util::display::ArrayFormatter::try_new(column, &options)?;
        let texts = (0..column.len()).map(|row| {
            column
                .is_valid(row)
                .then(|| formatter.value(row).to_string())
        });
        columns.push(Arc::new(texts.collect::<StringArray>()));
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn written(format: OutputFormat) -> String {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a\x1b]0;x\x07"), None]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let mut out = Vec::new();
        write_batches(
            &batch.schema(),
            &[batch.clone(), batch.slice(1, 1)],
            format,
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_shows_no_escape_sequences() {
        let table = written(OutputFormat::Table);
        assert!(table.contains("| 1 | a\\u{1b}]0;x\\u{7} |"), "{table}");
        assert!(table.contains("| 2 | -"), "{table}");
    }

    #[test]
    fn lines_have_one_head() {
        assert_eq!(written(OutputFormat::Csv), "n,t\n1,a\x1b]0;x\x07\n2,\n2,\n");
        let lines = written(OutputFormat::Ndjson);
        assert_eq!(lines.lines().count(), 3);
        assert!(
            lines.starts_with(r#"{"n":1,"t":"a\u001b]0;x\u0007"}"#),
            "{lines}"
        );
    }
}
