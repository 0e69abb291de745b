//! What was mined, shown again.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

use super::error::{PatternError, PatternResult};
use crate::engine::Engine;
use crate::engine::columns::{Columns, integer, listed, number, text};

const LIST: &str = include_str!("../../queries/patterns/list.sql");
const DETAIL: &str = include_str!("../../queries/patterns/detail.sql");

/// The patterns as rows.
#[derive(Debug)]
pub struct Listed {
    /// Columns.
    pub schema: SchemaRef,
    /// Rows.
    pub batches: Vec<RecordBatch>,
    /// Patterns of which noise cannot be told.
    pub unconfirmed: usize,
}

impl Listed {
    /// Number of patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The patterns of the newest run, the largest part of the gap first.
///
/// # Errors
/// If `fidelake mine` never ran, or the lake cannot be read.
pub async fn list(engine: &Engine) -> PatternResult<Listed> {
    let (schema, batches) = engine.query(LIST).await?;
    let status = listed(&batches, "status")?;
    if status.is_empty() {
        return Err(none(engine).await?);
    }
    let unconfirmed = status.iter().filter(|s| *s == "unconfirmed").count();
    Ok(Listed {
        schema,
        batches,
        unconfirmed,
    })
}

/// Why there are no patterns.
async fn none(engine: &Engine) -> PatternResult<PatternError> {
    let (_, rows) = engine
        .query("SELECT CAST(count(*) AS VARCHAR) AS n FROM patterns")
        .await?;
    let ever = listed(&rows, "n")?.first().is_some_and(|n| n != "0");
    Ok(PatternError::TooLittle(
        if ever {
            "the newest run of `fidelake mine` found no pattern"
        } else {
            "there are no patterns yet: run `fidelake mine`"
        }
        .into(),
    ))
}

/// One pattern.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Detail {
    /// Lake version on which it was mined.
    pub generation: i64,
    /// Its id.
    pub pattern_id: String,
    /// Environment of most of its calls.
    pub environment: String,
    /// Its family.
    pub family: String,
    /// Its name.
    pub name: String,
    /// Its rule, a condition over view `pattern_features`.
    pub rule: String,
    /// confirmed, unconfirmed.
    pub status: String,
    /// excess, mirror, none.
    pub test: String,
    /// Adjusted.
    pub p_value: Option<f64>,
    /// Tools.
    pub apis: String,
    /// Calls.
    pub calls: i64,
    /// Trajectories.
    pub trajectories: i64,
    /// Mean gap.
    pub gap: f64,
    /// Share of the whole gap.
    pub share_gap: f64,
    /// Share of calls with a cause of their own.
    pub root_share: f64,
    /// Share that follows from earlier divergences.
    pub state_share: f64,
    /// Share at which an arm disagrees with itself.
    pub flaky_share: f64,
    /// Of the rule, held out.
    pub precision: Option<f64>,
    /// Of the rule, held out.
    pub recall: Option<f64>,
    /// Calls held out.
    pub held_out: i64,
    /// Examples, joined by blanks.
    pub examples: String,
}

/// One pattern of the newest run, by its id or the beginning of it.
///
/// # Errors
/// If there is no such pattern, or several begin so.
pub async fn detail(engine: &Engine, id: &str) -> PatternResult<Detail> {
    let (_, rows) = engine
        .query("SELECT pattern_id FROM patterns_now ORDER BY pattern_id")
        .await?;
    let known = listed(&rows, "pattern_id")?;
    if known.is_empty() {
        return Err(none(engine).await?);
    }
    let exact = known.iter().any(|k| k == id);
    let matching: Vec<&String> = known
        .iter()
        .filter(|k| if exact { *k == id } else { k.starts_with(id) })
        .collect();
    let id = match matching.as_slice() {
        [one] => (*one).clone(),
        [] => {
            return Err(PatternError::Usage(format!(
                "there is no pattern {id} in the newest run: `fidelake patterns` lists them"
            )));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|s| s.as_str()).collect();
            return Err(PatternError::Usage(format!(
                "several patterns begin with {id}: {}",
                names.join(", ")
            )));
        }
    };
    let id = [("id", ScalarValue::Utf8(Some(id)))];
    let (_, batches) = engine.query_with(DETAIL, &id).await?;
    let Some(batch) = batches.iter().find(|b| b.num_rows() > 0) else {
        return Err(none(engine).await?);
    };
    let columns = Columns(batch);
    let words = |name: &str| -> PatternResult<String> {
        Ok(text(&columns.texts(name)?, 0).unwrap_or_default())
    };
    let whole = |name: &str| -> PatternResult<i64> {
        Ok(integer(&columns.integers(name)?, 0).unwrap_or_default())
    };
    let real =
        |name: &str| -> PatternResult<Option<f64>> { Ok(number(&columns.numbers(name)?, 0)) };
    Ok(Detail {
        generation: whole("generation")?,
        pattern_id: words("pattern_id")?,
        environment: words("environment")?,
        family: words("family")?,
        name: words("name")?,
        rule: words("rule")?,
        status: words("status")?,
        test: words("test")?,
        p_value: real("p_value")?,
        apis: words("apis")?,
        calls: whole("calls")?,
        trajectories: whole("trajectories")?,
        gap: real("gap")?.unwrap_or_default(),
        share_gap: real("share_gap")?.unwrap_or_default(),
        root_share: real("root_share")?.unwrap_or_default(),
        state_share: real("state_share")?.unwrap_or_default(),
        flaky_share: real("flaky_share")?.unwrap_or_default(),
        precision: real("precision")?,
        recall: real("recall")?,
        held_out: whole("held_out")?,
        examples: words("examples")?,
    })
}
