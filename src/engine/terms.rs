//! How much the words of tools weigh in the decision gap: an artefact, counted over
//! the sim catalogs, made by the first profile that needs it and renewed by
//! `fidelake learn` only. Every profile of what was offered tools pins it in its inputs.

use arrow::array::AsArray as _;
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use fidelake_core::gap::{Probe, TermWeights};

use super::error::EngineResult;
use super::learn::hash;
use super::session::Engine;
use super::settings::texts;
use crate::lake::LakeError;

const TERMS: &str = include_str!("../../queries/learn/terms.sql");

/// The kind in `learned`, and the name of the table.
pub(super) const TABLE: &str = "term_weights";

/// Term weights as rows (word, tools, tools_all) in the order of words.
pub(super) struct Terms {
    pub(super) rows: RecordBatch,
    /// Whether the lake holds them.
    pub(super) stored: bool,
}

impl Terms {
    /// Those in force: the newest artefact, else counted now.
    pub(super) async fn in_force(engine: &Engine) -> EngineResult<Self> {
        if engine.holds(TABLE)? {
            let sql = "SELECT word, tools, tools_all FROM term_weights_now ORDER BY word";
            let rows = rows(engine, sql).await?;
            if rows.num_rows() > 0 {
                return Ok(Self { rows, stored: true });
            }
        }
        Self::count(engine).await
    }

    /// Counted anew over the sim catalogs of the lake version that is read.
    pub(super) async fn count(engine: &Engine) -> EngineResult<Self> {
        Ok(Self {
            rows: rows(engine, TERMS).await?,
            stored: false,
        })
    }

    /// Names them in the inputs of a profile.
    pub(super) fn fingerprint(&self) -> EngineResult<String> {
        Ok(hash(&self.rows)?[..12].to_owned())
    }

    /// The reader that uses them.
    pub(super) fn probe(&self) -> EngineResult<Probe> {
        if self.rows.num_rows() == 0 {
            return Ok(Probe::default());
        }
        let words = texts(&self.rows, 0)?;
        let number = |column: usize| {
            let numbers = self.rows.column(column).as_primitive::<Int64Type>();
            numbers
                .values()
                .iter()
                .map(|&n| u64::try_from(n).unwrap_or_default())
        };
        let all = number(2).next().unwrap_or_default();
        let words = words.iter().map(Option::unwrap_or_default);
        Ok(Probe::new(TermWeights::new(all, words.zip(number(1)))))
    }
}

async fn rows(engine: &Engine, sql: &str) -> EngineResult<RecordBatch> {
    let (schema, rows) = engine.query(sql).await?;
    let rows = concat_batches(&schema, &rows).map_err(LakeError::from)?;
    // One spelling of the types, or the same rows would hash in two ways.
    let words: arrow::array::ArrayRef = std::sync::Arc::new(texts(&rows, 0)?);
    let columns = [
        ("word", words),
        ("tools", std::sync::Arc::clone(rows.column(1))),
        ("tools_all", std::sync::Arc::clone(rows.column(2))),
    ];
    Ok(RecordBatch::try_from_iter(columns).map_err(LakeError::from)?)
}
