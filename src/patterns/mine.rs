//! `fidelake mine`: from calls that differ to patterns in the lake.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fidelake_core::patterns::{Clustering, Method, REAL_DISTANCE, Signature, choose, embed};
use fidelake_core::stats::{Chance, ExactSum};

use super::call::{Calls, Cause};
use super::core_of::Core;
use super::error::{PatternError, PatternResult};
use super::feature::Field;
use super::guard::{self, Tested};
use super::{naming, read, rule, write};
use crate::engine::Engine;
use crate::engine::columns::{listed, quoted};
use crate::import::Progress;
use crate::lake::{At, Lake, WriteGuard};

/// Kinds of calls that are clustered; others go to the nearest of these.
const CLUSTERED: usize = 20_000;
/// Dimensions of their own, and shared ones.
const DIMENSIONS: (usize, usize) = (64, 32);
/// A kind that was not clustered belongs to a cluster if it is nearer than this to one of its kinds.
const NEAR: f64 = 0.9 * REAL_DISTANCE;
/// Trajectories used for mining; the rest is held out.
const MINED: f64 = 0.7;
/// Examples that are kept.
const EXAMPLES: usize = 5;
/// Patterns that are described, the largest part of the gap first.
const MOST: usize = 200;

/// What to mine.
#[derive(Clone, Debug)]
pub struct MineRequest {
    /// A condition over view `pattern_features`.
    pub condition: Option<String>,
    /// Only this environment.
    pub environment: Option<String>,
    /// Patterns of a smaller mean gap are left out.
    pub min_gap: f64,
    /// Patterns of fewer calls are left out.
    pub min_calls: u64,
    /// Methods to choose from.
    pub methods: Vec<Method>,
    /// Seed: which trajectories are held out, in which order signatures are looked at.
    pub seed: u64,
    /// The command, for the lake's log.
    pub command: String,
}

/// A pattern that was found.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Found {
    /// Its id.
    pub pattern_id: String,
    /// The environment of most calls.
    pub environment: String,
    /// Its family.
    pub family: &'static str,
    /// Its name.
    pub name: String,
    /// The rule in SQL.
    pub rule: String,
    /// `confirmed` or `unconfirmed`.
    pub status: &'static str,
    /// Which test.
    pub test: &'static str,
    /// Adjusted p-value.
    pub p_value: Option<f64>,
    /// Tools.
    pub apis: Vec<String>,
    /// Calls.
    pub calls: u64,
    /// Trajectories.
    pub trajectories: u64,
    /// Mean gap.
    pub gap: f64,
    /// Share of the whole gap.
    pub share_gap: f64,
    /// Shares by cause: structural, state, flaky.
    pub causes: [f64; 3],
    /// On held-out trajectories.
    pub precision: Option<f64>,
    /// On held-out trajectories.
    pub recall: Option<f64>,
    /// Calls in held-out trajectories.
    pub held_out: u64,
    /// trajectory_id#turn.index
    pub examples: Vec<String>,
    /// Places in the list of calls.
    #[serde(skip)]
    pub(super) members: Vec<usize>,
}

/// What `mine` did.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MineReport {
    /// The patterns, the largest share of the gap first.
    pub patterns: Vec<Found>,
    /// The newest lake version.
    pub lake_version: i64,
    /// Whether something was written: not if everything is as it was.
    pub written: bool,
    /// Calls at which the arms differ.
    pub differing: u64,
    /// Their kinds: distinct signatures.
    pub kinds: usize,
    /// Of these calls, those of no cluster.
    pub noise: u64,
    /// Names of clusters that are no more than noise.
    pub refuted: Vec<String>,
    /// Clusters below the least gap.
    pub small: usize,
    /// Clusters that no rule describes.
    pub undescribed: usize,
    /// Clusters beyond the number that is described.
    pub beyond: usize,
    /// The method chosen.
    pub method: &'static str,
    /// Its radius or number of clusters.
    pub setting: f64,
    /// The silhouette of the choice.
    pub score: f64,
    /// Calls whose tool or parameters could not be held against a catalog.
    pub unknown_schema: u64,
}

/// Mines, and writes the patterns as one lake version.
///
/// # Errors
/// If there is nothing to mine, the condition is wrong, or the lake cannot be read or written.
pub async fn mine(
    lake: &mut Lake,
    _guard: WriteGuard,
    request: &MineRequest,
    progress: &dyn Progress,
) -> PatternResult<MineReport> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let condition = condition(&engine, request)?;
    let mut all = read::calls(&engine, &condition, request.seed, progress).await?;
    enough(&engine, &all, request).await?;
    let alike = read::alike(&engine, &condition, request.seed, &mut all).await?;
    let clustered = cluster(&all, request)?;
    let (labels, clustering) = (&clustered.labels, &clustered.clustering);
    let mut report = MineReport {
        patterns: Vec::new(),
        lake_version: engine.version().version,
        written: false,
        differing: all.calls.len() as u64,
        kinds: all.kinds_of_calls(),
        noise: all
            .calls
            .iter()
            .filter(|c| !labels.contains_key(&c.kind))
            .count() as u64,
        refuted: Vec::new(),
        small: 0,
        undescribed: 0,
        beyond: 0,
        method: clustering.method.name(),
        setting: clustering.setting.number(),
        score: clustering.score,
        unknown_schema: all
            .calls
            .iter()
            .filter(|c| all.value(c, Field::ArgumentFaults) == "unknown")
            .count() as u64,
    };
    let mut clusters = candidates(&all, labels, request, &mut report);
    progress.items(1, 3);
    describe(&all, labels, &alike, &mut clusters, &mut report);
    progress.items(2, 3);
    let rules: Vec<String> = clusters.iter().map(|c| c.rule.clone()).collect();
    let mut pattern: HashMap<u64, usize> = HashMap::new();
    for (at, cluster) in clusters.iter().enumerate() {
        for &member in &cluster.members {
            pattern.insert(all.place(&all.calls[member]), at);
        }
    }
    let kept = rule::held_out(
        &engine,
        &condition,
        request.seed,
        &rules,
        &pattern,
        progress,
    )
    .await?;
    for (found, kept) in clusters.iter_mut().zip(kept) {
        found.precision = (kept.found > 0).then(|| kept.right as f64 / kept.found as f64);
        found.recall = (found.held_out > 0).then(|| kept.right as f64 / found.held_out as f64);
    }
    progress.items(3, 3);
    write::name_as_before(&engine, &all, &mut clusters).await?;
    report.patterns = clusters;
    drop(engine);
    write::write(lake, &all, request, &mut report, progress).await?;
    Ok(report)
}

pub(super) fn condition(engine: &Engine, request: &MineRequest) -> PatternResult<String> {
    let mut parts = Vec::new();
    if let Some(own) = &request.condition {
        engine
            .condition(own)
            .map_err(|e| PatternError::Usage(format!("--where: {e}")))?;
        // On lines of its own: it may end in a comment.
        parts.push(format!("(\n{own}\n)"));
    }
    if let Some(environment) = &request.environment {
        parts.push(format!("environment = {}", quoted(environment)));
    }
    Ok(if parts.is_empty() {
        "true".to_owned()
    } else {
        parts.join(" AND ")
    })
}

/// Says why there is nothing to mine.
async fn enough(engine: &Engine, all: &Calls, request: &MineRequest) -> PatternResult<()> {
    let count = |rows: Vec<arrow::record_batch::RecordBatch>| {
        let first = rows.first().filter(|batch| batch.num_rows() > 0)?;
        let column = arrow::array::AsArray::as_primitive_opt::<arrow::datatypes::Int64Type>(
            first.column(0),
        )?;
        Some(column.value(0))
    };
    if all.calls.len() as u64 >= request.min_calls.max(1) {
        return Ok(());
    }
    let (_, rows) = engine.query("SELECT count(*) FROM call_gaps").await?;
    if count(rows).unwrap_or_default() == 0 {
        return Err(PatternError::TooLittle(
            "no gaps are computed yet: `fidelake dual run` or `fidelake import` brings runs of both arms, `fidelake profile` compares them".into(),
        ));
    }
    if let Some(environment) = &request.environment {
        let (_, rows) = engine
            .query("SELECT DISTINCT environment FROM call_gaps ORDER BY environment")
            .await?;
        let known = listed(&rows, "environment")?;
        if !known.contains(environment) {
            return Err(PatternError::Usage(format!(
                "--environment {environment}: no call of it was compared; there are {}",
                known.join(", ")
            )));
        }
    }
    Err(PatternError::TooLittle(match all.calls.len() {
        0 => "the arms differ at no call: there is nothing to mine".into(),
        n => format!(
            "the arms differ at {n} calls only, too few for a pattern of {} (--min-calls)",
            request.min_calls
        ),
    }))
}

struct Clustered {
    /// The cluster of every kind that belongs to one.
    labels: HashMap<u32, usize>,
    clustering: Clustering,
}

/// Kinds in an order of which every beginning is a fair sample of each API.
fn order(all: &Calls, mined: &BTreeMap<u32, u64>, seed: u64) -> Vec<u32> {
    let mut by_api: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for &kind in mined.keys() {
        let api = all.vocabulary.value(&all.kinds[kind as usize], Field::Api);
        by_api.entry(api).or_default().push(kind);
    }
    let mut chance = Chance::new(seed);
    let mut ranked: Vec<(f64, u32)> = Vec::with_capacity(mined.len());
    for kinds in by_api.values_mut() {
        for at in (1..kinds.len()).rev() {
            kinds.swap(at, chance.below(at + 1));
        }
        let size = kinds.len() as f64;
        ranked.extend(
            kinds
                .iter()
                .enumerate()
                .map(|(at, kind)| ((at as f64 + 0.5) / size, *kind)),
        );
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, kind)| kind).collect()
}

fn cluster(all: &Calls, request: &MineRequest) -> PatternResult<Clustered> {
    let mut mined: BTreeMap<u32, u64> = BTreeMap::new();
    let mut others: BTreeSet<u32> = BTreeSet::new();
    for call in &all.calls {
        if all.held_out(call) {
            others.insert(call.kind);
        } else {
            *mined.entry(call.kind).or_default() += 1;
        }
    }
    if mined.is_empty() {
        return Err(PatternError::TooLittle(
            "all calls that differ stand in trajectories that are held out: more trajectories are needed, or another --seed".into(),
        ));
    }
    let mut kinds = order(all, &mined, request.seed);
    let clustered = kinds.len().min(CLUSTERED);
    kinds.extend(others.into_iter().filter(|kind| !mined.contains_key(kind)));
    let signatures: Vec<Signature> = kinds
        .iter()
        .map(|kind| all.signature(*kind, mined.get(kind).copied().unwrap_or(1)))
        .collect();
    let points = embed(&signatures, DIMENSIONS.0, DIMENSIONS.1);
    let counts: Vec<u64> = signatures[..clustered].iter().map(|s| s.count).collect();
    // What will be enough with the held-out calls; chance takes some from this part.
    let least = ((request.min_calls as f64 * MINED * 0.7).floor() as u64).max(2);
    let found = choose(&points[..clustered], &counts, &request.methods, least);
    let Some(clustering) = found else {
        return Err(PatternError::TooLittle(format!(
            "{} kinds of calls are too few for this method: --method auto tries all of them",
            counts.len()
        )));
    };
    let mut labels: HashMap<u32, usize> = HashMap::new();
    let mut near: HashMap<&str, Vec<usize>> = HashMap::new();
    let api = |kind: u32| all.vocabulary.value(&all.kinds[kind as usize], Field::Api);
    for (at, label) in clustering.labels.iter().enumerate() {
        if let Some(label) = label {
            labels.insert(kinds[at], *label);
            near.entry(api(kinds[at])).or_default().push(at);
        }
    }
    for (at, &kind) in kinds.iter().enumerate().skip(clustered) {
        let distance = |other: usize| -> f64 {
            let pairs = points[at].iter().zip(&points[other]);
            pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        let places = near.get(api(kind)).into_iter().flatten();
        let nearest = places
            .map(|&other| (distance(other), other))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((distance, other)) = nearest
            && distance <= NEAR
            && let Some(label) = clustering.labels[other]
        {
            labels.insert(kind, label);
        }
    }
    Ok(Clustered { labels, clustering })
}

/// The clusters that are patterns: large enough, of enough gap, more than noise.
fn candidates(
    all: &Calls,
    labels: &HashMap<u32, usize>,
    request: &MineRequest,
    report: &mut MineReport,
) -> Vec<Found> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut whole = ExactSum::default();
    for (at, call) in all.calls.iter().enumerate() {
        whole.add(call.weight * call.gap);
        if let Some(label) = labels.get(&call.kind) {
            members.entry(*label).or_default().push(at);
        }
    }
    let whole = whole.value();
    let mut clusters: Vec<(Vec<usize>, Core)> = Vec::new();
    let mut kinds: Vec<BTreeMap<u32, u64>> = Vec::new();
    for members in members.into_values() {
        if (members.len() as u64) < request.min_calls {
            report.noise += members.len() as u64;
            continue;
        }
        let mut of: BTreeMap<u32, u64> = BTreeMap::new();
        for &at in &members {
            *of.entry(all.calls[at].kind).or_default() += 1;
        }
        let core = Core::of(all, &of);
        clusters.push((members, core));
        kinds.push(of);
    }
    let tested = guard::test(all, &clusters);
    let mut out = Vec::new();
    for (((members, core), kinds), tested) in clusters.into_iter().zip(kinds).zip(tested) {
        let family = naming::family_of(all, &kinds);
        let name = naming::name(family, &core);
        let gap = mean(&members, |at| all.calls[at].gap);
        if tested.refuted() {
            report.refuted.push(name);
            continue;
        }
        if gap < request.min_gap {
            report.small += 1;
            continue;
        }
        out.push(found(
            all,
            members,
            &core,
            (family.name(), name),
            gap,
            whole,
            tested,
        ));
    }
    out.sort_by(|a, b| {
        b.share_gap
            .total_cmp(&a.share_gap)
            .then_with(|| a.name.cmp(&b.name))
    });
    report.beyond = out.len().saturating_sub(MOST);
    out.truncate(MOST);
    out
}

fn mean(members: &[usize], of: impl Fn(usize) -> f64) -> f64 {
    let mut sum = ExactSum::default();
    members.iter().for_each(|&at| sum.add(of(at)));
    sum.value() / members.len().max(1) as f64
}

fn found(
    all: &Calls,
    members: Vec<usize>,
    core: &Core,
    (family, name): (&'static str, String),
    gap: f64,
    whole: f64,
    tested: Tested,
) -> Found {
    let trajectories: BTreeSet<u32> = members.iter().map(|&at| all.calls[at].trajectory).collect();
    let cause = |cause| {
        mean(&members, |at| {
            f64::from(u8::from(all.calls[at].cause == cause))
        })
    };
    let own = mean(&members, |at| all.calls[at].weight * all.calls[at].gap) * members.len() as f64;
    // Examples from different trajectories, calls of their own cause first.
    let mut order: Vec<usize> = members.clone();
    order.sort_by_key(|&at| (all.calls[at].cause != Cause::Structural, at));
    let mut seen = BTreeSet::new();
    let examples = order
        .iter()
        .filter(|&&at| seen.insert(all.calls[at].trajectory))
        .take(EXAMPLES)
        .map(|&at| {
            let call = &all.calls[at];
            let trajectory = &all.trajectories[call.trajectory as usize];
            format!("{}#{}.{}", trajectory.id, call.turn, call.index)
        })
        .collect();
    Found {
        pattern_id: write::fresh_id(core),
        environment: core.value(Field::Environment).to_owned(),
        family,
        name,
        rule: String::new(),
        status: if tested.confirmed() {
            "confirmed"
        } else {
            "unconfirmed"
        },
        test: tested.test,
        p_value: tested.p,
        apis: core.apis.iter().take(10).cloned().collect(),
        calls: members.len() as u64,
        trajectories: trajectories.len() as u64,
        gap,
        share_gap: if whole > 0.0 {
            (own / whole).clamp(0.0, 1.0)
        } else {
            0.0
        },
        causes: [Cause::Structural, Cause::State, Cause::Flaky].map(cause),
        precision: None,
        recall: None,
        held_out: members
            .iter()
            .filter(|&&at| all.held_out(&all.calls[at]))
            .count() as u64,
        examples,
        members,
    }
}

/// Finds the rules, and leaves out what none describes.
fn describe(
    all: &Calls,
    labels: &HashMap<u32, usize>,
    alike: &[fidelake_core::patterns::Row],
    clusters: &mut Vec<Found>,
    report: &mut MineReport,
) {
    let mut kinds: BTreeMap<u32, (Option<usize>, u64)> = BTreeMap::new();
    for call in all.calls.iter().filter(|call| !all.held_out(call)) {
        kinds
            .entry(call.kind)
            .or_insert((labels.get(&call.kind).copied(), 0))
            .1 += 1;
    }
    let rules: Vec<Option<String>> = {
        use rayon::prelude::*;
        clusters
            .par_iter()
            .map(|found| {
                let kind = found.members.first().map(|&at| all.calls[at].kind)?;
                let label = labels.get(&kind)?;
                let rule = rule::rule(all, *label, &kinds, alike)?;
                Some(rule::sql(all, &rule, kind))
            })
            .collect()
    };
    let before = clusters.len();
    let mut rules = rules.into_iter();
    clusters.retain_mut(|found| match rules.next().flatten() {
        Some(rule) => {
            found.rule = rule;
            true
        }
        None => false,
    });
    report.undescribed = before - clusters.len();
}
