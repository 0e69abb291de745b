//! What a profile run has to compute, found at the cost of what is new.
//!
//! A trajectory is computed again if and only if its inputs changed. To look at the
//! inputs of all of them costs a scan of every run. So each profile run leaves a
//! [`Basis`] in its lake version: with the same rules, learned artefacts and engine,
//! only trajectories with runs in files added since can have changed, and the queries
//! read those. Whenever that cannot be told, all of them are looked at.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use serde::{Deserialize, Serialize};

use super::error::EngineResult;
use super::functions::Settings;
use super::narrow::{Narrow, narrow};
use super::session::Engine;
use super::settings::texts;
use super::terms::Terms;
use super::{rules, touch};
use crate::lake::{Lake, LakeError, LakeVersion};

/// Changes when the same runs give other numbers.
const ENGINE: &str = "p5";

const COMPARABLE: &str = include_str!("../../queries/profile/comparable.sql");
const PENDING: &str = include_str!("../../queries/profile/pending.sql");

/// What a profile run is in `lake_versions`.
pub(super) const OPERATION: &str = "profile";

/// The tables that hold what was learned: part of the inputs.
const LEARNED: [&str; 3] = ["learned", "learned_noise", "volatile_paths"];

/// What the profiles of a lake version stand on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Basis {
    engine: String,
    /// Hash of the rules file.
    rules: String,
    /// Hash of the term weights.
    terms: String,
    /// Environments whose arms hash their state alike.
    comparable: Vec<String>,
    /// Trajectories that have a profile.
    profiles: u64,
}

/// The key under which it stands among the counts of a lake version.
const KEY: &str = "basis";

/// What has to be computed.
pub(super) struct Work {
    /// Holds what the queries read: all rows of every pending trajectory at least.
    pub(super) engine: Engine,
    /// One row per trajectory, sorted by key.
    pub(super) pending: RecordBatch,
    /// Trajectories that a scan of the tables would meet.
    pub(super) met: u64,
    /// Trajectories that had a profile before.
    pub(super) known: u64,
    /// How many of the pending ones are among them.
    pub(super) recomputed: u64,
    basis: Basis,
}

impl Work {
    /// Compares the inputs of the trajectories with those of their newest profiles.
    pub(super) async fn find(
        lake: &Lake,
        engine: &Engine,
        settings: &Settings,
        terms: &Terms,
    ) -> EngineResult<Self> {
        let (rules, terms) = (rules::hash(lake.path())?, terms.fingerprint()?);
        let last = last(lake, engine.version())?;
        let last = last.filter(|(_, basis)| basis.rules == rules && basis.terms == terms);
        if let Some((then, basis)) = last
            && let Some(narrow) = narrow(lake, engine, &then).await?
            // An environment whose states can be compared now touches old trajectories.
            && let Some(work) = Self::among(narrow, settings, basis).await?
        {
            return Ok(work);
        }
        let known =
            "SELECT count(*) FROM (SELECT DISTINCT environment, trajectory_id FROM profiles)";
        let basis = Basis {
            engine: ENGINE.to_owned(),
            rules,
            terms,
            comparable: comparable(engine).await?,
            profiles: engine.count(known).await?,
        };
        let all = Narrow {
            engine: engine.clone(),
            met: engine.held("trajectories")?.rows,
            fresh: basis.profiles == 0,
        };
        Self::look(all, settings, basis).await
    }

    /// Looks at some trajectories only; `None` if that is not enough.
    async fn among(
        narrow: Narrow,
        settings: &Settings,
        basis: Basis,
    ) -> EngineResult<Option<Self>> {
        let more = comparable(&narrow.engine).await?;
        if more.iter().any(|name| !basis.comparable.contains(name)) {
            return Ok(None);
        }
        Self::look(narrow, settings, basis).await.map(Some)
    }

    async fn look(narrow: Narrow, settings: &Settings, basis: Basis) -> EngineResult<Self> {
        let Narrow { engine, met, fresh } = narrow;
        name_comparable(&engine, &basis.comparable)?;
        touch::name_touched(&engine, settings).await?;
        let parameters = [
            ("engine", ScalarValue::from(ENGINE)),
            ("terms", ScalarValue::from(basis.terms.as_str())),
        ];
        let (schema, rows) = engine.query_with(PENDING, &parameters).await?;
        let pending = concat_batches(&schema, &rows).map_err(LakeError::from)?;
        engine.name_rows("pending_range", &schema, vec![pending.clone()])?;
        let recomputed = "SELECT count(*) FROM pending_range AS r LEFT SEMI JOIN profiles AS p
                          ON r.environment = p.environment AND r.trajectory_id = p.trajectory_id";
        Ok(Self {
            recomputed: match fresh {
                true => 0,
                false => engine.count(recomputed).await?,
            },
            known: basis.profiles,
            engine,
            pending,
            met,
            basis,
        })
    }

    /// The counts of a lake version whose profiles are all computed.
    pub(super) fn counts(&self, report: &impl Serialize) -> serde_json::Value {
        let mut counts = serde_json::json!(report);
        let new = self.pending.num_rows() as u64 - self.recomputed;
        let basis = Basis {
            profiles: self.known + new,
            ..self.basis.clone()
        };
        counts[KEY] = serde_json::json!(basis);
        counts
    }
}

/// The newest profile run, if its profiles stand on the same rules, artefacts and engine.
fn last(lake: &Lake, now: &LakeVersion) -> EngineResult<Option<(LakeVersion, Basis)>> {
    let versions = lake.versions()?;
    let Some(then) = versions.into_iter().rfind(|v| v.operation == OPERATION) else {
        return Ok(None);
    };
    let same = LEARNED
        .iter()
        .all(|table| then.tables.get(*table) == now.tables.get(*table));
    let basis: Option<Basis> = then
        .counts
        .get(KEY)
        .and_then(|basis| Basis::deserialize(basis).ok());
    let basis = basis.filter(|basis| same && basis.engine == ENGINE);
    Ok(basis.map(|basis| (then, basis)))
}

/// The environments whose arms hash their state alike, as far as the session's rows tell.
async fn comparable(engine: &Engine) -> EngineResult<Vec<String>> {
    let mut names = Vec::new();
    for batch in engine.query(COMPARABLE).await?.1 {
        names.extend(texts(&batch, 0)?.iter().flatten().map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn name_comparable(engine: &Engine, names: &[String]) -> EngineResult<()> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let rows = RecordBatch::try_from_iter([("environment", names)]).map_err(LakeError::from)?;
    engine.name_rows("comparable", &rows.schema(), vec![rows])
}
