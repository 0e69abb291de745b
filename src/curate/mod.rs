//! From profiles to training shards: the gate gives every run a weight, groups
//! give it an advantage, and both stand as columns beside the conversation.
//!
//! Two passes over one pinned state of the lake. The first reads small columns
//! only and decides everything; the second streams the payloads in the order of
//! the shards. Everything but the recorded time is a function of the recipe and
//! the lake version.

mod calibrate;
mod calls;
mod chat;
mod choose;
mod decide;
mod difficulty;
mod error;
mod explain;
mod fidelity;
mod folder_lock;
mod holdout;
mod job;
mod json;
mod leak;
mod ledger;
mod manifest;
mod manifest_files;
mod message;
mod output_part;
mod payload;
mod place;
mod predicted;
mod privacy;
mod read;
mod recipe;
mod recipe_file;
mod recipe_rules;
mod record;
mod region;
mod repair;
mod rewards;
mod rule_figures;
mod select;
mod sequence;
mod sorted;
mod split;
mod tools;
mod verify;
mod weigh;
mod why;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use error::{CurateError, CurateResult};
pub use explain::{Explanation, explain};
pub use recipe::{Recipe, RecipeError};
pub use record::pinned_versions;
pub use verify::{Verified, verify};
pub use why::{Asked, Fate, Why, why};
pub use write::Format;

use decide::{Decided, Question, decide};
use job::Maker;
use ledger::Ledger;
use manifest::{Made, Manifest, card, gate_figures, no_gate};
use manifest_files::Files;
use payload::Payloads;
use place::{Found, Workshop, look, refuse_inside};
use record::{Entry, record};
use weigh::Weighed;
use write::{Journal, Limits, Totals, Work, Writer};

use crate::engine::Engine;
use crate::import::Progress;
use crate::lake::{At, Lake, LakeError, LakeVersion, failpoint};

/// What to curate, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// The lake's folder.
    pub lake: PathBuf,
    /// Which state of it to read.
    pub at: At,
    /// The recipe's file.
    pub recipe: PathBuf,
    /// Where the shards go.
    pub output: PathBuf,
    /// What was typed.
    pub command: String,
    /// Wait so long for another writer.
    pub wait: Duration,
}

/// What a rule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// As it stands in the recipe.
    pub rule: String,
    /// Runs that came to it.
    pub runs_in: u64,
    /// Runs that it left.
    pub runs_out: u64,
    /// What else is to be said of it.
    pub note: String,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The curation's name in the lake.
    pub curation_id: String,
    /// `manifest.json` as it stands in the folder.
    pub manifest: String,
    /// The folder had it already.
    pub there_already: bool,
    /// The lake version that was read.
    pub lake_version: i64,
    /// The lake version that records it, if this command did.
    pub recorded: Option<i64>,
    /// Rows written.
    pub rows: u64,
    /// Groups.
    pub groups: u64,
    /// Groups from which nothing can be learned.
    pub degenerate_groups: u64,
    /// Runs that the rules left out, with the rule's name.
    pub left_out: Vec<(&'static str, u64)>,
    /// Every rule: runs before and after it, and what else is to be said of it.
    pub rules: Vec<RuleLine>,
    /// What people must know of the rewards and the gate.
    pub warnings: Vec<String>,
    /// The gate that came out.
    pub gate: &'static str,
    /// Slope and threshold of the gate.
    pub constants: Option<(f64, f64)>,
    /// Share of the weight that the gate moved between rows.
    pub weight_moved: Option<f64>,
    /// Factor that keeps the learning rate.
    pub weight_scale: Option<f64>,
    /// Share of the weight by where the profile comes from.
    pub weight_by_source: BTreeMap<&'static str, f64>,
    /// Factors that were measured nowhere.
    pub factors_left_out: Vec<&'static str>,
    /// Rows whose answers were replaced by real ones, of so many that might have been.
    pub repaired: Option<(u64, u64)>,
    /// The formats that were written.
    pub formats: Vec<Format>,
    /// Why every weight is 1 although a gate was asked for.
    pub no_gate: Option<String>,
}

/// Makes shards of a lake.
///
/// # Errors
/// If the recipe has a mistake, the folder is not empty, no row is left, or
/// something cannot be read or written. Nothing stands in the folder then.
pub async fn curate(options: &Options, progress: &dyn Progress) -> CurateResult<Report> {
    let question = Question::read(&options.lake, &options.recipe, &options.at)?;
    let Question {
        recipe,
        lake,
        version,
        curation_id,
        ..
    } = &question;
    let curation_id = curation_id.clone();
    refuse_unfinished(lake, &curation_id)?;
    refuse_inside(&options.output, &options.lake)?;
    let found = look(&options.output, &curation_id)?;
    failpoint::pass("curate:begun");

    let engine = Engine::open(lake, &At::Version(version.version)).await?;
    let decided = decide(&engine, &question, &mut Ledger::default()).await?;
    failpoint::pass("curate:weighed");

    let mut shop = None;
    let manifest = match &found {
        Found::Same(manifest) => manifest.clone(),
        Found::Free => {
            let shop = shop.insert(Workshop::open(&options.output, &curation_id)?);
            let filled = fill(shop, &engine, &question, &decided, progress).await;
            filled.map_err(|error| shop.leave(error))?
        }
    };
    let weighed = &decided.weighed;
    let entry = Entry {
        curation_id: &curation_id,
        lake_version: version.version,
        recipe: &recipe.text,
        manifest: &manifest,
        output: &options.output,
        command: &options.command,
        counts: serde_json::json!({"rows": weighed.counts.rows, "groups": weighed.counts.groups}),
    };
    let recorded = record(&options.lake, options.wait, &entry, &weighed.rows).await?;
    if let Some(shop) = &shop {
        shop.publish()?;
    }
    let mut report = report(recipe, weighed);
    report.repaired = decided.repair.map(|r| r.of());
    report.curation_id = curation_id;
    report.manifest = manifest;
    report.there_already = matches!(found, Found::Same(_));
    report.lake_version = version.version;
    report.recorded = recorded.map(|v| v.version);
    Ok(report)
}

/// Writes everything; returns the manifest.
async fn fill(
    shop: &Workshop,
    engine: &Engine,
    question: &Question,
    decided: &Decided,
    progress: &dyn Progress,
) -> CurateResult<String> {
    let (recipe, curation_id) = (&question.recipe, &question.curation_id);
    let (rows, formats) = (&decided.weighed.rows, &recipe.output.formats);
    let work = Work {
        curation_id: curation_id.clone(),
        fidelake: env!("CARGO_PKG_VERSION").to_owned(),
        rows: rows.len(),
    };
    let journal = Journal::open(shop.path(), &work, formats)?;
    let next = journal.next();
    if next > 0 {
        progress.say(&format!(
            "{} finished shards are there already; going on at row {next} of {}",
            journal.shards.len(),
            rows.len()
        ));
    }
    failpoint::pass("curate:journal_opened");
    let mask = recipe.privacy.mask.mode();
    let mut tools = Totals::default();
    let payloads = Payloads::open(engine, rows, next, mask, &mut tools).await?;
    let limits = Limits {
        rows: recipe.output.rows_per_shard.unwrap_or(u64::MAX),
        bytes: recipe.output.max_shard_bytes,
    };
    let arm = recipe.source.arm.as_str();
    let maker = Maker::new(Arc::clone(rows), arm, mask);
    let writer = Writer::new(formats, limits, journal);
    let journal = job::write(payloads, maker, writer, next, progress).await?;
    let mut files = Files::of(shop, journal)?;
    failpoint::pass("curate:shards_named");
    files.totals.add(&tools);
    let made = Made {
        recipe,
        curation_id,
        version: &question.version,
        judge: &decided.judge,
        weighed: &decided.weighed,
        excess: &decided.excess,
        repair: decided.repair,
        holdouts: question.holdout_figures(),
    };
    let mut manifest = Manifest::of(&made, &files);
    match formats.as_slice() {
        [only] => files.write(
            shop,
            "README.md".into(),
            &card(recipe, &manifest, Some(*only)),
        )?,
        several => {
            for format in several {
                let path = format!("{}/README.md", format.name());
                files.write(shop, path, &card(recipe, &manifest, Some(*format)))?;
            }
            files.write(shop, "README.md".into(), &card(recipe, &manifest, None))?;
        }
    }
    manifest.beside = files.beside;
    let text = manifest.text();
    shop.write("manifest.json", &text)?;
    failpoint::pass("curate:written");
    Ok(text)
}

fn report(recipe: &Recipe, weighed: &Weighed) -> Report {
    let (counts, gate) = (&weighed.counts, gate_figures(recipe, weighed));
    Report {
        curation_id: String::new(),
        manifest: String::new(),
        there_already: false,
        lake_version: 0,
        recorded: None,
        rows: counts.rows,
        groups: counts.groups,
        degenerate_groups: counts.degenerate_groups,
        left_out: vec![
            ("by where", counts.filtered_out),
            ("without reward", counts.without_reward),
            ("with a reward that is no number", counts.reward_not_finite),
            ("by min in [rewards]", counts.below_min_reward),
            ("by unknown = \"drop\"", counts.dropped_unknown),
        ],
        rules: counts
            .rules
            .iter()
            .map(|rule| RuleLine {
                rule: rule.rule.clone(),
                runs_in: rule.runs_in,
                runs_out: rule.runs_out,
                note: rule.note.clone(),
            })
            .collect(),
        warnings: rule_figures::warnings(weighed),
        gate: gate.kind,
        constants: gate.alpha.zip(gate.beta),
        weight_moved: weighed.weight_moved,
        weight_scale: weighed.weight_scale,
        weight_by_source: weighed.weight_by_source.clone(),
        repaired: None,
        formats: recipe.output.formats.clone(),
        no_gate: no_gate(&gate),
        factors_left_out: gate.factors_left_out,
    }
}

/// The tables that a curation writes; they are not what it reads.
const OWN_TABLES: [&str; 2] = ["curations", "curation_rows"];

/// The oldest state with the same inputs as the one asked for. Recording a
/// curation makes a new lake version in which nothing changed that a curation
/// reads: without this, the same command would never make the same shards.
fn inputs_version(lake: &Lake, at: &At) -> CurateResult<LakeVersion> {
    let asked = lake.pin(at)?.version().clone();
    let inputs = |version: &LakeVersion| {
        let mut tables = version.tables.clone();
        tables.retain(|name, _| !OWN_TABLES.contains(&name.as_str()));
        tables
    };
    let wanted = inputs(&asked);
    let same = lake
        .versions()?
        .into_iter()
        .rev()
        .skip_while(|v| v.version > asked.version)
        .take_while(|v| inputs(v) == wanted)
        .filter(|v| v.readable)
        .last();
    Ok(same.unwrap_or(asked))
}

/// Another write that did not end would stop the last step; better to say so first.
fn refuse_unfinished(lake: &Lake, curation_id: &str) -> CurateResult<()> {
    match lake
        .intents()?
        .into_iter()
        .find(|intent| intent.id != curation_id)
    {
        None => Ok(()),
        Some(intent) => Err(LakeError::Unfinished {
            operation: intent.operation,
            id: intent.id,
            command: intent.command,
        }
        .into()),
    }
}
