//! Rows for people and for programs.

use std::io::{self, IsTerminal as _, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use clap::ValueEnum;

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
            let table = if batches.is_empty() {
                let empty = RecordBatch::new_empty(schema.clone());
                arrow::util::pretty::pretty_format_batches_with_options(&[empty], &options)?
                    .to_string()
            } else {
                arrow::util::pretty::pretty_format_batches_with_options(batches, &options)?
                    .to_string()
            };
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
                let mut bytes = Vec::new();
                let mut writer = builder.build::<_, arrow::json::writer::LineDelimited>(&mut bytes);
                writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
                writer.finish()?;
                out.write_all(&bytes)?;
            }
        }
        OutputFormat::Csv => {
            let mut writer = arrow::csv::WriterBuilder::new()
                .with_header(true)
                .build(&mut *out);
            writer.write(&RecordBatch::new_empty(schema.clone()))?;
            for batch in batches {
                writer.write(&flat(batch)?)?;
            }
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
