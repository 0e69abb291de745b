//! What the lake knows around a pattern: its calls, what its tools were asked before, what
//! they declare, and what was run on real already.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use datafusion::common::ScalarValue;
use fidelake_core::patterns::Belief;
use fidelake_core::stats::Chance;

use super::arguments::Arguments;
use super::make::{Sort, sequence_key};
use crate::engine::Engine;
use crate::engine::columns::{Columns, integer, text};
use crate::patterns::error::{PatternError, PatternResult};
use crate::patterns::list::Detail;

const MEMBERS: &str = include_str!("../../../queries/patterns/probe_members.sql");
const ALIKE: &str = include_str!("../../../queries/patterns/probe_alike.sql");
const VALUES: &str = include_str!("../../../queries/patterns/probe_values.sql");
const SCHEMAS: &str = include_str!("../../../queries/patterns/probe_schemas.sql");
const REAL: &str = include_str!("../../../queries/patterns/probe_real.sql");
const SEEN: &str = include_str!("../../../queries/patterns/probe_seen.sql");

/// A call of the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) environment: String,
    pub(super) trajectory: String,
    pub(super) turn: i64,
    pub(super) index: i64,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) members: Vec<Member>,
    /// Calls that real was never asked and that look on sim as the pattern's do.
    pub(super) alike: Vec<Member>,
    /// How many of these each tool has.
    unasked: BTreeMap<String, u64>,
    /// Values by (tool, parameter), as given, the most frequent first.
    pub(super) values: BTreeMap<(String, String), Vec<String>>,
    /// Parameter schemas by tool.
    pub(super) schemas: BTreeMap<String, String>,
    /// Names of parameters of any tool.
    pub(super) parameters: BTreeSet<String>,
    /// Sequences of calls that real has answered.
    pub(super) on_real: HashSet<u128>,
    /// (tool, faults) -> (calls compared, calls that differ)
    seen: BTreeMap<(String, String), (u64, u64)>,
    apis: BTreeSet<String>,
}

impl Known {
    pub(super) async fn read(
        engine: &Engine,
        pattern: &Detail,
        most: usize,
        seed: u64,
    ) -> PatternResult<Self> {
        let mut known = Self::default();
        let environment = [(
            "environment",
            ScalarValue::Utf8(Some(pattern.environment.clone())),
        )];
        let id = [("id", ScalarValue::Utf8(Some(pattern.pattern_id.clone())))];
        for (member, api) in read_members(engine, MEMBERS, &id).await? {
            known.apis.insert(api);
            known.members.push(member);
        }
        if known.members.is_empty() {
            return Err(PatternError::TooLittle(format!(
                "no call of pattern {} is made by a run of sim: there is nothing to make again",
                pattern.pattern_id
            )));
        }
        let mut chance = Chance::new(seed);
        shuffle(&mut known.members, &mut chance);
        known.members.truncate(most);
        let both = [id[0].clone(), environment[0].clone()];
        let mut alike: BTreeMap<String, Vec<Member>> = BTreeMap::new();
        for (member, api) in read_members(engine, ALIKE, &both).await? {
            alike.entry(api).or_default().push(member);
        }
        for (api, mut calls) in alike {
            known.unasked.insert(api, calls.len() as u64);
            shuffle(&mut calls, &mut chance);
            calls.truncate(most);
            known.alike.append(&mut calls);
        }
        known.read_values(engine, &environment).await?;
        known.read_schemas(engine, &environment).await?;
        known.read_real(engine, &environment).await?;
        Ok(known)
    }

    async fn read_values(
        &mut self,
        engine: &Engine,
        environment: &[(&str, ScalarValue)],
    ) -> PatternResult<()> {
        let (_, batches) = engine.query_with(VALUES, environment).await?;
        let mut counts: BTreeMap<(String, String), BTreeMap<String, u64>> = BTreeMap::new();
        for batch in &batches {
            let columns = Columns(batch);
            let (names, arguments) = (columns.texts("name")?, columns.texts("arguments")?);
            for row in 0..batch.num_rows() {
                let tool = text(&names, row).unwrap_or_default();
                let Some(own) = text(&arguments, row).and_then(|a| Arguments::parse(&a)) else {
                    continue;
                };
                for (parameter, value) in own.0 {
                    self.parameters.insert(parameter.clone());
                    if self.apis.contains(&tool) && !value.contains("<masked:") {
                        *counts
                            .entry((tool.clone(), parameter))
                            .or_default()
                            .entry(value)
                            .or_default() += 1;
                    }
                }
            }
        }
        for (key, values) in counts {
            let mut values: Vec<(String, u64)> = values.into_iter().collect();
            values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            self.values
                .insert(key, values.into_iter().map(|(value, _)| value).collect());
        }
        Ok(())
    }

    async fn read_schemas(
        &mut self,
        engine: &Engine,
        environment: &[(&str, ScalarValue)],
    ) -> PatternResult<()> {
        let (_, batches) = engine.query_with(SCHEMAS, environment).await?;
        for batch in &batches {
            let columns = Columns(batch);
            let (names, schemas) = (columns.texts("name")?, columns.texts("parameters")?);
            for row in 0..batch.num_rows() {
                if let Some((name, schema)) = text(&names, row).zip(text(&schemas, row)) {
                    self.schemas.insert(name, schema);
                }
            }
        }
        let (_, batches) = engine.query_with(SEEN, environment).await?;
        for batch in &batches {
            let columns = Columns(batch);
            let (apis, faults) = (columns.texts("api")?, columns.texts("argument_faults")?);
            let (calls, low) = (columns.integers("calls")?, columns.integers("differing")?);
            let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or_default();
            for row in 0..batch.num_rows() {
                let key = (
                    text(&apis, row).unwrap_or_default(),
                    text(&faults, row).unwrap_or_default(),
                );
                self.seen.insert(
                    key,
                    (count(integer(&calls, row)), count(integer(&low, row))),
                );
            }
        }
        Ok(())
    }

    async fn read_real(
        &mut self,
        engine: &Engine,
        environment: &[(&str, ScalarValue)],
    ) -> PatternResult<()> {
        let (_, batches) = engine.query_with(REAL, environment).await?;
        let mut current: Option<String> = None;
        let mut keys: Vec<u128> = Vec::new();
        for batch in &batches {
            let columns = Columns(batch);
            let (runs, hashes) = (columns.texts("run_id")?, columns.texts("call_key")?);
            for row in 0..batch.num_rows() {
                let run = text(&runs, row);
                if current != run {
                    current = run;
                    keys.clear();
                }
                let key = text(&hashes, row).and_then(|k| fidelake_core::json::key::Key::parse(&k));
                keys.push(key.map_or(0, |k| k.bits()));
                self.on_real.insert(sequence_key(&keys));
            }
        }
        Ok(())
    }

    /// Whether any tool of the pattern declares its parameters.
    pub(super) fn has_schema(&self) -> bool {
        self.apis.iter().any(|api| self.schemas.contains_key(api))
    }

    /// What is believed of how often a sort of probe shows a difference: from the calls of
    /// that tool with the same fault, for sequences from nothing.
    pub(super) fn belief(&self, api: &str, sort: Sort) -> Belief {
        let fault = match sort {
            Sort::Observed | Sort::Schema => "none",
            Sort::Undeclared => "undeclared",
            Sort::Missing => "missing",
            Sort::Alike | Sort::Boundary | Sort::Again | Sort::ReadBack => {
                return Belief::after(0, 0);
            }
        };
        let key = (api.to_owned(), fault.to_owned());
        let (calls, differing) = self.seen.get(&key).copied().unwrap_or_default();
        Belief::after(calls, differing)
    }

    /// For how many recorded calls a probe speaks: what is learned of calls that agents made
    /// is worth more than what is learned of calls that nobody made.
    pub(super) fn speaks_for(&self, api: &str, sort: Sort) -> f64 {
        let calls = match sort {
            Sort::Alike => self.unasked.get(api).copied().unwrap_or_default(),
            _ => 1,
        };
        calls.max(1) as f64
    }
}

fn shuffle(members: &mut [Member], chance: &mut Chance) {
    for at in (1..members.len()).rev() {
        members.swap(at, chance.below(at + 1));
    }
}

/// Calls with their tools, as one of our queries lists them.
async fn read_members(
    engine: &Engine,
    sql: &str,
    values: &[(&str, ScalarValue)],
) -> PatternResult<Vec<(Member, String)>> {
    let (_, batches) = engine.query_with(sql, values).await?;
    let mut out = Vec::new();
    for batch in &batches {
        let columns = Columns(batch);
        let texts = [
            columns.texts("environment")?,
            columns.texts("trajectory_id")?,
            columns.texts("api")?,
        ];
        let (turns, indexes) = (columns.integers("turn")?, columns.integers("index")?);
        for row in 0..batch.num_rows() {
            let get = |at: usize| text(&texts[at], row).unwrap_or_default();
            let member = Member {
                environment: get(0),
                trajectory: get(1),
                turn: turns.value(row),
                index: indexes.value(row),
            };
            out.push((member, get(2)));
        }
    }
    Ok(out)
}
