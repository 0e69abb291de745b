//! `fidelake probe`: sequences of calls that look closer at a pattern.

mod arguments;
mod known;
mod make;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use fidelake_core::patterns::Belief;

use super::error::{PatternError, PatternResult};
use super::list::{Detail, detail};
use crate::dual::is_name;
use crate::engine::Engine;
use crate::estimate::tasks::{Template, bodies};
use crate::lake::LakeError;
use known::Known;
use make::{Probe, Sort, probes};

/// Members of the pattern around which probes are made.
const MEMBERS: usize = 60;

/// What to probe.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// The pattern's id, or the beginning of it.
    pub pattern: String,
    /// A plan of `fidelake dual run` that says where and how calls are made.
    pub template: Option<PathBuf>,
    /// Real calls to spend, with prefixes and repeats.
    pub budget: u64,
    /// Name of the plan.
    pub name: Option<String>,
    /// Seed of the draws.
    pub seed: u64,
}

/// A probe that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeRow {
    /// What kind of probe.
    pub sort: &'static str,
    /// The tool that it is about.
    pub api: String,
    /// What is changed.
    pub change: String,
    /// The recorded call that it comes from.
    pub of: String,
    /// Calls before the one that it is about.
    pub prefix: u64,
    /// Real calls with prefix and repeats.
    pub real_calls: u64,
    /// Expected fall of the variance of what is believed, times the recorded calls that the
    /// probe speaks for, per real call.
    pub information: f64,
}

/// What was planned.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// The pattern.
    pub pattern: Detail,
    /// The probes, the most telling first.
    pub probes: Vec<ProbeRow>,
    /// The plan, if a template was given and a probe is left.
    pub plan: Option<PathBuf>,
    /// Real calls of all probes.
    pub cost: u64,
    /// Tools that the template does not permit, with the probes that need them.
    pub refused: BTreeMap<String, u64>,
    /// Probes made twice, or made on real before.
    pub known: u64,
    /// Probes beyond the budget.
    pub beyond: u64,
    /// Members whose arguments are masked, so that they cannot be made again.
    pub masked: u64,
    /// Whether the tool's parameters are declared anywhere.
    pub schema: bool,
    /// Seconds that the rate limit takes, at least.
    pub seconds: f64,
}

/// Makes probes for a pattern, and with a template the plan that runs them.
///
/// # Errors
/// If there is no such pattern, the template is none, or the lake cannot be read.
pub async fn probe(engine: &Engine, request: &ProbeRequest) -> PatternResult<ProbeReport> {
    let pattern = detail(engine, &request.pattern).await?;
    let template = request
        .template
        .as_deref()
        .map(Template::read)
        .transpose()?;
    let name = request
        .name
        .clone()
        .unwrap_or_else(|| format!("probe-{}", pattern.pattern_id));
    if !is_name(&name) {
        return Err(PatternError::Usage(format!(
            "--name {name}: a plan's name is made of letters, digits, - _ ."
        )));
    }
    let known = Known::read(engine, &pattern, MEMBERS, request.seed).await?;
    let wanted: BTreeSet<(String, String)> = known
        .members
        .iter()
        .chain(&known.alike)
        .map(|m| (m.environment.clone(), m.trajectory.clone()))
        .collect();
    let bodies = bodies(engine, &wanted).await?;
    let nothing = BTreeSet::new();
    let reads = template.as_ref().map_or(&nothing, |t| &t.reads);
    let (made, masked) = probes(&known, &bodies, reads, request.seed);
    let mut report = ProbeReport {
        pattern,
        probes: Vec::new(),
        plan: None,
        cost: 0,
        refused: BTreeMap::new(),
        known: 0,
        beyond: 0,
        masked,
        schema: known.has_schema(),
        seconds: 0.0,
    };
    let fresh = permitted(made, &known, template.as_ref(), &mut report);
    let times = |calls: usize| {
        let calls = calls as u64;
        template.as_ref().map_or(calls, |t| t.times(calls))
    };
    let chosen = ordered(fresh, &known, request.budget, &times, &mut report);
    for (probe, information) in &chosen {
        report.probes.push(ProbeRow {
            sort: probe.sort.name(),
            api: probe.api.clone(),
            change: probe.change.clone(),
            of: probe.of.clone(),
            prefix: probe.prefix as u64,
            real_calls: times(probe.calls.len()),
            information: *information,
        });
    }
    if let Some(template) = template
        && !chosen.is_empty()
    {
        report.seconds = template.rate.map_or(0.0, |rate| report.cost as f64 / rate);
        let mut lines = Vec::with_capacity(chosen.len());
        for (at, (probe, _)) in chosen.iter().enumerate() {
            let Some(body) = bodies.get(&probe.trajectory) else {
                continue;
            };
            let id = format!("{}#{name}/{}.{at}", probe.trajectory.1, probe.sort.name());
            let labels = [
                ("probe_pattern", report.pattern.pattern_id.as_str().into()),
                ("probe_sort", probe.sort.name().into()),
                ("probe_of", probe.of.as_str().into()),
            ];
            let calls: Vec<&serde_json::Value> = probe.calls.iter().collect();
            lines.push(body.line(id, labels, &calls));
        }
        let head = format!(
            "# Probes of pattern {} ({}), made by `fidelake probe` from {}.\n",
            report.pattern.pattern_id,
            report.pattern.name.replace(['\n', '\r'], " "),
            template.file_name()
        );
        report.plan = Some(template.write_files(&name, None, report.cost, &head, &lines)?);
    }
    Ok(report)
}

/// Leaves out what stands there twice, was made on real before, or is not permitted.
fn permitted(
    made: Vec<Probe>,
    known: &Known,
    template: Option<&Template>,
    report: &mut ProbeReport,
) -> Vec<Probe> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for probe in made {
        if !seen.insert(probe.key) || known.on_real.contains(&probe.key) {
            report.known += 1;
            continue;
        }
        let refused: BTreeSet<&str> = probe
            .calls
            .iter()
            .filter_map(|call| call["name"].as_str())
            .filter(|tool| template.is_some_and(|t| !t.permits(tool)))
            .collect();
        if refused.is_empty() {
            out.push(probe);
            continue;
        }
        for tool in refused {
            *report.refused.entry(tool.to_owned()).or_default() += 1;
        }
    }
    out
}

/// The most telling per real call first, each as if those before it had been made, as long
/// as the budget reaches.
fn ordered(
    mut left: Vec<Probe>,
    known: &Known,
    budget: u64,
    times: &dyn Fn(usize) -> u64,
    report: &mut ProbeReport,
) -> Vec<(Probe, f64)> {
    let mut beliefs: BTreeMap<(String, Sort), Belief> = BTreeMap::new();
    let mut out = Vec::new();
    while !left.is_empty() {
        let mut best: Option<(f64, usize)> = None;
        for (at, probe) in left.iter().enumerate() {
            let cost = times(probe.calls.len()).max(1);
            if report.cost + cost > budget {
                continue;
            }
            let key = (probe.api.clone(), probe.sort);
            let belief = beliefs
                .entry(key)
                .or_insert_with(|| known.belief(&probe.api, probe.sort));
            let weight = known.speaks_for(&probe.api, probe.sort);
            let worth = belief.information() * weight / cost as f64;
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, at));
            }
        }
        let Some((worth, at)) = best else { break };
        let probe = left.remove(at);
        report.cost += times(probe.calls.len()).max(1);
        if let Some(belief) = beliefs.get_mut(&(probe.api.clone(), probe.sort)) {
            *belief = belief.one_more();
        }
        out.push((probe, worth));
    }
    report.beyond = left.len() as u64;
    out
}

impl ProbeRow {
    /// Rows to print.
    ///
    /// # Errors
    /// If the columns do not fit together.
    pub fn batch(rows: &[Self], places: Option<i32>) -> PatternResult<RecordBatch> {
        let scale = |x: f64| places.map_or(x, |p| (x * 10f64.powi(p)).round() / 10f64.powi(p));
        let words = |of: fn(&Self) -> &str| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| Some(of(row)))
                    .collect::<StringArray>(),
            )
        };
        let counts = |of: fn(&Self) -> u64| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| i64::try_from(of(row)).ok())
                    .collect::<Int64Array>(),
            )
        };
        let worth: Float64Array = rows
            .iter()
            .map(|row| Some(scale(row.information)))
            .collect();
        let columns: [(&str, ArrayRef); 7] = [
            ("probe", words(|row| row.sort)),
            ("api", words(|row| &row.api)),
            ("change", words(|row| &row.change)),
            ("of", words(|row| &row.of)),
            ("prefix", counts(|row| row.prefix)),
            ("real_calls", counts(|row| row.real_calls)),
            ("information", Arc::new(worth)),
        ];
        let all = columns.map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(all).map_err(LakeError::from)?)
    }
}
