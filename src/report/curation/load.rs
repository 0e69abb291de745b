//! From the lake to the numbers of a curation.

use arrow::array::{Array as _, AsArray as _, Float64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;

use super::{Curation, Kind, Line, Part, Rule, Ways};
use crate::engine::{Engine, EngineError};
use crate::lake::{At, Lake, LakeError};

/// Why a curation cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CurationError {
    /// None was made of this lake.
    #[error("no curation was made of this lake: `fidelake curate RECIPE.toml --out DIR` makes one")]
    None,
    /// No such one.
    #[error("there is no curation {id:?}; there are {known}")]
    Unknown {
        /// As given.
        id: String,
        /// The newest of them.
        known: String,
    },
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Curations that an error names.
const NAMED: usize = 5;

/// The view that every query reads.
const SHOWN: &str = include_str!("../../../queries/report/shown.sql");
const COUNTS: &str = include_str!("../../../queries/report/counts.sql");
const MEANS: &str = include_str!("../../../queries/report/fidelity_means.sql");
const SHARES: &str = include_str!("../../../queries/report/shares.sql");

/// Title and query of each part that shows shares.
const PARTS: [(&str, &str); 6] = [
    (
        "Fidelity",
        include_str!("../../../queries/report/by_fidelity.sql"),
    ),
    (
        "Difficulty",
        include_str!("../../../queries/report/by_difficulty.sql"),
    ),
    ("APIs", include_str!("../../../queries/report/by_api.sql")),
    (
        "Outcomes",
        include_str!("../../../queries/report/by_outcome.sql"),
    ),
    (
        "Lengths",
        include_str!("../../../queries/report/by_length.sql"),
    ),
    (
        "Environments",
        include_str!("../../../queries/report/by_environment.sql"),
    ),
];

/// How much is asked about a curation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What `draw_curation` shows: of runs and profiles only.
    Summary,
    /// All parts; calls and answers are read too.
    Whole,
}

/// Reads a curation of the lake: the newest, or the one whose id begins with `id`.
///
/// What it is compared with is the state of the lake that it was made from.
///
/// # Errors
/// If there is no such curation, or the state it was made from is gone.
pub async fn load(
    lake: &Lake,
    id: Option<&str>,
    extent: Extent,
) -> Result<Curation, CurationError> {
    let newest = Engine::open(lake, &At::Newest).await?;
    let found = find(&newest, id).await?;
    let (schema, kept) = newest
        .query_with(
            "SELECT run_id, fidelity_weight FROM curation_rows WHERE curation_id = $id",
            &[("id", ScalarValue::from(found.id.as_str()))],
        )
        .await?;
    drop(newest);
    let engine = Engine::open(lake, &At::Version(found.lake_version)).await?;
    // A recipe may put several judges together: then all of them say what went well.
    let judge = known_judge(&engine, found.judge.as_deref()).await?;
    engine.name_rows("curation_kept", &schema, kept)?;
    let asked = RecordBatch::try_from_iter([
        (
            "arm",
            std::sync::Arc::new(StringArray::from(vec![found.arm.as_str()])) as _,
        ),
        (
            "judge",
            std::sync::Arc::new(StringArray::from(vec![judge])) as _,
        ),
    ])?;
    engine.name_rows("curation_asked", &asked.schema(), vec![asked.clone()])?;
    engine.view("curation_joined", SHOWN).await?;
    // Seven questions are asked of these rows: the joins are made once.
    let (schema, rows) = engine.query("SELECT * FROM curation_joined").await?;
    engine.name_rows("curation_shown", &schema, rows)?;

    let mut curation = found;
    if let Some(line) = lines(&engine, COUNTS).await?.into_iter().next() {
        curation.runs = line.values;
    }
    curation.parts.push(Part {
        title: "Fidelity by dimension",
        note: note(MEANS),
        kind: Kind::Means,
        lines: lines(&engine, MEANS).await?,
        sql: MEANS,
    });
    if extent == Extent::Summary {
        return Ok(curation);
    }
    for (title, sql) in PARTS {
        engine.view("curation_part", sql).await?;
        curation.parts.push(Part {
            title,
            note: note(sql),
            kind: Kind::Shares,
            lines: lines(&engine, SHARES).await?,
            sql,
        });
    }
    Ok(curation)
}

async fn known_judge<'j>(
    engine: &Engine,
    judge: Option<&'j str>,
) -> Result<Option<&'j str>, CurationError> {
    let Some(name) = judge else { return Ok(None) };
    let (_, rows) = engine
        .query_with(
            "SELECT judge FROM verdicts WHERE judge = $judge LIMIT 1",
            &[("judge", ScalarValue::from(name))],
        )
        .await?;
    let there = rows.iter().any(|batch| batch.num_rows() > 0);
    Ok(judge.filter(|_| there))
}

/// The comment that a query begins with.
fn note(sql: &str) -> String {
    let comment = sql.lines().take_while(|line| line.starts_with("--"));
    let words = comment.map(|line| line.trim_start_matches("--").trim());
    words.collect::<Vec<_>>().join(" ")
}

async fn find(engine: &Engine, id: Option<&str>) -> Result<Curation, CurationError> {
    let (_, batches) = engine
        .query(
            "SELECT curation_id, lake_version, recipe, manifest FROM curations \
             ORDER BY curated_at DESC, curation_id",
        )
        .await?;
    let mut known = Vec::new();
    for batch in &batches {
        let [ids, recipes, manifests] = ["curation_id", "recipe", "manifest"].map(|name| {
            let column = batch.column_by_name(name).map(|c| cast(c, &DataType::Utf8));
            column.unwrap_or_else(|| Err(ArrowError::SchemaError(format!("no column {name}"))))
        });
        let (ids, recipes, manifests) = (ids?, recipes?, manifests?);
        let versions = batch.column(1).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let this = ids.as_string::<i32>().value(row);
            if id.is_none_or(|id| !id.is_empty() && this.starts_with(id)) {
                let manifest = manifests.as_string::<i32>().value(row);
                let recipe = recipes.as_string::<i32>().value(row);
                return Ok(curation(this, versions.value(row), recipe, manifest));
            }
            known.push(this.to_owned());
        }
    }
    match id {
        Some(id) if !known.is_empty() => {
            let more = known.len().saturating_sub(NAMED);
            known.truncate(NAMED);
            let mut text = known.join(", ");
            if more > 0 {
                text.push_str(&format!(" and {more} older"));
            }
            Err(CurationError::Unknown {
                id: id.to_owned(),
                known: text,
            })
        }
        _ => Err(CurationError::None),
    }
}

fn curation(id: &str, lake_version: i64, recipe: &str, manifest: &str) -> Curation {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let text = |name: &str| manifest[name].as_str().map(str::to_owned);
    let counts = manifest["counts"].as_object().into_iter().flatten();
    Curation {
        id: id.to_owned(),
        lake_version,
        arm: text("arm").unwrap_or_else(|| "sim".to_owned()),
        judge: text("judge"),
        recipe: recipe.to_owned(),
        counts: counts
            .filter_map(|(name, runs)| {
                Some(Rule {
                    name: name.replace('_', " "),
                    runs: runs.as_u64()?,
                })
            })
            .collect(),
        runs: Ways::default(),
        parts: Vec::new(),
        manifest,
    }
}

async fn lines(engine: &Engine, sql: &str) -> Result<Vec<Line>, CurationError> {
    let (_, batches) = engine.query(sql).await?;
    let mut lines = Vec::new();
    for batch in &batches {
        let column = |name: &str| {
            let found = batch.column_by_name(name);
            found.ok_or_else(|| ArrowError::SchemaError(format!("no column {name}")))
        };
        let labels = cast(column("label")?, &DataType::Utf8)?;
        let labels = labels.as_string::<i32>();
        let mut values = Vec::new();
        for (name, _) in super::WAYS {
            let column = cast(column(name)?, &DataType::Float64)?;
            values.push(column.as_primitive::<Float64Type>().clone());
        }
        let value = |column: &Float64Array, row: usize| {
            column
                .is_valid(row)
                .then(|| column.value(row))
                .filter(|x| x.is_finite())
        };
        for row in 0..batch.num_rows() {
            let mut line = Line {
                label: labels.value(row).to_owned(),
                values: Ways::default(),
            };
            for (slot, column) in line.values.iter_mut().zip(&values) {
                *slot = value(column, row);
            }
            lines.push(line);
        }
    }
    Ok(lines)
}
