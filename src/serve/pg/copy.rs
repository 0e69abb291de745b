//! `COPY ... TO STDOUT`: how drivers fetch many rows at once.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::sql::sqlparser::ast::{CopyLegacyOption, CopyOption, Statement};
use datafusion_postgres::arrow_pg::encoder::encode_value;
use datafusion_postgres::pgwire::api::portal::Format;
use datafusion_postgres::pgwire::api::results::{
    CopyCsvOptions, CopyEncoder, CopyResponse, CopyTextOptions, FieldInfo,
};
use datafusion_postgres::pgwire::error::PgWireResult;
use datafusion_postgres::pgwire::messages::copy::CopyData;
use futures::{Stream, StreamExt as _, stream};

use super::error::{code, refused};

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Binary,
    Text,
    Csv { header: bool },
}

impl Written {
    /// As the statement says; text where it says nothing.
    pub(super) fn of(statement: &Statement) -> PgWireResult<Self> {
        let Statement::Copy {
            options,
            legacy_options,
            ..
        } = statement
        else {
            return Ok(Self::Text);
        };
        let unknown = |what: String| {
            let why = format!("COPY with {what}: FORMAT binary, text or csv and HEADER are known");
            refused(code::UNSUPPORTED, why)
        };
        let mut written = Self::Text;
        let mut header = false;
        for option in options {
            match option {
                CopyOption::Format(name) => {
                    written = match name.value.to_ascii_lowercase().as_str() {
                        "binary" => Self::Binary,
                        "text" => Self::Text,
                        "csv" => Self::Csv { header: false },
                        _ => return Err(unknown(option.to_string())),
                    };
                }
                CopyOption::Header(wanted) => header = *wanted,
                _ => return Err(unknown(option.to_string())),
            }
        }
        for option in legacy_options {
            match option {
                CopyLegacyOption::Binary => written = Self::Binary,
                _ => return Err(unknown(option.to_string())),
            }
        }
        match (written, header) {
            (Self::Csv { .. }, header) => Ok(Self::Csv { header }),
            (_, true) => Err(unknown("HEADER and a format that is not csv".to_owned())),
            (written, false) => Ok(written),
        }
    }

    /// The form of single values.
    pub(super) const fn values(self) -> Format {
        match self {
            Self::Binary => Format::UnifiedBinary,
            Self::Text | Self::Csv { .. } => Format::UnifiedText,
        }
    }
}

/// Writes rows in a form.
pub(super) fn response(
    written: Written,
    fields: Arc<Vec<FieldInfo>>,
    rows: impl Stream<Item = PgWireResult<RecordBatch>> + Send + 'static,
) -> CopyResponse {
    let columns = fields.len();
    let mut encoder = match written {
        Written::Binary => CopyEncoder::new_binary(Arc::clone(&fields)),
        Written::Text => CopyEncoder::new_text(Arc::clone(&fields), CopyTextOptions::default()),
        Written::Csv { .. } => CopyEncoder::new_csv(Arc::clone(&fields), CopyCsvOptions::default()),
    };
    let names = matches!(written, Written::Csv { header: true }).then(|| Ok(names(&fields)));
    let lines = rows.flat_map(move |batch| {
        let lines = match batch {
            Ok(batch) => encode(&mut encoder, &batch, &fields),
            Err(error) => vec![Err(error)],
        };
        stream::iter(lines)
    });
    let format = i8::from(written == Written::Binary);
    CopyResponse::new(format, columns, stream::iter(names).chain(lines))
}

fn encode(
    encoder: &mut CopyEncoder,
    batch: &RecordBatch,
    fields: &[FieldInfo],
) -> Vec<PgWireResult<CopyData>> {
    let schema = batch.schema();
    let line = |row: usize, encoder: &mut CopyEncoder| {
        for (column, field) in fields.iter().enumerate() {
            encode_value(
                encoder,
                batch.column(column),
                row,
                schema.field(column),
                field,
            )?;
        }
        Ok(encoder.take_copy())
    };
    (0..batch.num_rows())
        .map(|row| line(row, encoder))
        .collect()
}

/// The first line of a CSV.
fn names(fields: &[FieldInfo]) -> CopyData {
    let names: Vec<String> = fields
        .iter()
        .map(|field| format!("\"{}\"", field.name().replace('"', "\"\"")))
        .collect();
    CopyData::new(format!("{}\n", names.join(",")).into())
}
