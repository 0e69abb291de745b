//! The plan of a round: a file for `fidelake dual run`, and the calls that it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use fidelake_core::json::Doc;

use super::draw::Chosen;
use super::error::{EstimateError, EstimateResult};
use super::pool::LakePool;
use super::rounds::DrawLabel;
use crate::dual::{Plan, Switches};
use crate::engine::Engine;
use crate::engine::columns::{Columns, text};
use crate::lake::LakeError;

const BODIES: &str = include_str!("../../queries/estimate/bodies.sql");

/// A plan whose trajectories are not taken: it says where and how calls are made.
#[derive(Debug)]
pub(crate) struct Template {
    path: PathBuf,
    table: toml::Table,
    pub(crate) reads: BTreeSet<String>,
    allow: BTreeSet<String>,
    /// Whether the environment itself may permit what the plan does not list.
    declares: bool,
    repeats: f64,
    pub(crate) rate: Option<f64>,
}

impl Template {
    pub(crate) fn read(path: &Path) -> EstimateResult<Self> {
        let io = |source| EstimateError::Io {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(io)?;
        let wrong = |why: &str| EstimateError::Usage(format!("{}: {why}", path.display()));
        let table: toml::Table = text
            .parse()
            .map_err(|e: toml::de::Error| wrong(&e.to_string()))?;
        // The rules of plans are those of `fidelake dual run`.
        Plan::read(path, Switches::default()).map_err(|e| EstimateError::Usage(e.to_string()))?;
        let Some(real) = table.get("real").and_then(toml::Value::as_table) else {
            return Err(wrong(
                "a campaign buys calls of the real arm: the plan needs [real]",
            ));
        };
        if !table.contains_key("sim") {
            return Err(wrong(
                "the drawn calls run on both arms: the plan needs [sim] (a replay of the lake will do: kind = \"replay\")",
            ));
        }
        let list = |key: &str| -> BTreeSet<String> {
            let values = real
                .get(key)
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten();
            values
                .filter_map(toml::Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let number = |key: &str| {
            real.get(key)
                .and_then(|v| v.as_float().or(v.as_integer().map(|n| n as f64)))
        };
        let repeats = number("repeats").unwrap_or(1.0);
        let share = number("share").unwrap_or(1.0);
        let names: Vec<&str> = match real.get("environment") {
            Some(toml::Value::String(name)) => vec![name],
            Some(toml::Value::Table(names)) => {
                names.values().filter_map(toml::Value::as_str).collect()
            }
            _ => Vec::new(),
        };
        let kind = |name: &&str| table.get("environments")?.get(*name)?.get("kind")?.as_str();
        let declares = !names.is_empty()
            && names
                .iter()
                .all(|name| matches!(kind(name), Some("process" | "replay")));
        Ok(Self {
            path: path.to_owned(),
            reads: list("reads"),
            allow: list("allow"),
            declares,
            // A share of the trajectories is repeated; which, is decided by the runner.
            repeats: if share > 0.0 { repeats } else { 1.0 },
            rate: number("rate"),
            table,
        })
    }

    /// Whether a tool may be called on the real arm, as far as the plan says.
    pub(crate) fn permits(&self, tool: &str) -> bool {
        self.declares
            || self.reads.contains(tool)
            || self.allow.contains(tool)
            || self.allow.contains("*")
    }

    /// Real calls of so many calls with all repeats.
    pub(crate) fn times(&self, calls: u64) -> u64 {
        calls * self.repeats as u64
    }
}

/// What the files of a round are called by.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) campaign: String,
    pub(super) budget: u64,
}

/// Writes `NAME.tasks.jsonl` and then `NAME.toml` beside the template.
pub(super) async fn write(
    engine: &Engine,
    template: &Template,
    pool: &LakePool,
    reads: &BTreeSet<String>,
    drawn: &[(Chosen, DrawLabel)],
    written: &Written,
) -> EstimateResult<PathBuf> {
    let lines = lines(engine, pool, reads, drawn).await?;
    let head = format!(
        "# A round of campaign {}, made by `fidelake plan` from {}.\n# All its rounds spend one budget of {} real calls.\n",
        written.campaign,
        template.file_name(),
        written.budget
    );
    template.write_files(
        &written.name,
        Some(&written.campaign),
        written.budget,
        &head,
        &lines,
    )
}

impl Template {
    /// The template's own name.
    pub(crate) fn file_name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string()
    }

    /// Writes `NAME.tasks.jsonl` with these lines, and then `NAME.toml`, beside the template:
    /// its environments, arms and limits, with a budget of its own or that of `budget_of`.
    pub(crate) fn write_files(
        &self,
        name: &str,
        budget_of: Option<&str>,
        budget: u64,
        head: &str,
        lines: &[String],
    ) -> EstimateResult<PathBuf> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let tasks = format!("{name}.tasks.jsonl");
        replace(&folder.join(&tasks), lines.concat().as_bytes())?;
        let mut table = self.table.clone();
        table.insert("name".into(), name.into());
        match budget_of {
            Some(campaign) => table.insert("budget_of".into(), campaign.into()),
            None => table.remove("budget_of"),
        };
        let trajectories: toml::Table = [("file".to_owned(), toml::Value::from(tasks))]
            .into_iter()
            .collect();
        table.insert("trajectories".into(), trajectories.into());
        if let Some(real) = table.get_mut("real").and_then(toml::Value::as_table_mut) {
            let budget = i64::try_from(budget).unwrap_or(i64::MAX);
            real.insert("budget".into(), budget.into());
        }
        let body = toml::to_string(&table).map_err(|e| EstimateError::TooLittle(e.to_string()))?;
        let path = folder.join(format!("{name}.toml"));
        replace(&path, format!("{head}{body}").as_bytes())?;
        Plan::read(&path, Switches::default())?;
        Ok(path)
    }
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> EstimateResult<()> {
    let io = |source| EstimateError::Io {
        path: path.to_owned(),
        source,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    let mut file = std::fs::File::create(&fresh).map_err(io)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(io)?;
    std::fs::rename(&fresh, path).map_err(io)
}

/// A call as it is made again.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) turn: i64,
    pub(crate) index: i64,
    pub(crate) name: String,
    pub(crate) json: serde_json::Value,
}

/// A trajectory with all its calls.
#[derive(Debug, Default)]
pub(crate) struct Body {
    head: serde_json::Map<String, serde_json::Value>,
    labels: serde_json::Map<String, serde_json::Value>,
    start_state: Option<String>,
    pub(crate) calls: Vec<Call>,
}

impl Body {
    /// The trajectory with other calls and an id of its own, as a line in the native form.
    pub(crate) fn line(
        &self,
        id: String,
        labels: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
        calls: &[&serde_json::Value],
    ) -> String {
        let mut own = self.labels.clone();
        own.extend(
            labels
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let mut head = self.head.clone();
        head.insert("trajectory_id".into(), id.into());
        head.insert("labels".into(), own.into());
        head.insert("calls".into(), serde_json::json!(calls));
        let mut line = serde_json::Value::Object(head).to_string();
        if let Some(state) = &self.start_state {
            // As given: numbers in it may be larger than a JSON library keeps.
            line.pop();
            line.push_str(&format!(",\"start_state\":{state}}}"));
        }
        line.push('\n');
        line
    }
}

/// One run in the native form per draw: the state-changing calls before it, and itself.
async fn lines(
    engine: &Engine,
    pool: &LakePool,
    reads: &BTreeSet<String>,
    drawn: &[(Chosen, DrawLabel)],
) -> EstimateResult<Vec<String>> {
    let wanted = drawn
        .iter()
        .map(|(chosen, _)| &pool.units[chosen.unit])
        .map(|unit| (unit.environment.clone(), unit.trajectory.clone()))
        .collect();
    let bodies = bodies(engine, &wanted).await?;
    let mut lines = Vec::new();
    for (chosen, label) in drawn {
        let unit = &pool.units[chosen.unit];
        let Some(body) = bodies.get(&(unit.environment.clone(), unit.trajectory.clone())) else {
            return Err(EstimateError::TooLittle(format!(
                "trajectory {} has gone from the lake",
                unit.trajectory
            )));
        };
        let here = |call: &&Call| (call.turn, call.index) == (unit.turn, unit.index);
        let before = |call: &&Call| {
            (call.turn, call.index) < (unit.turn, unit.index) && !reads.contains(&call.name)
        };
        let calls: Vec<&serde_json::Value> = body
            .calls
            .iter()
            .filter(|call| before(call) || here(call))
            .map(|call| &call.json)
            .collect();
        let budget =
            serde_json::to_value(label).map_err(|e| EstimateError::TooLittle(e.to_string()))?;
        let id = format!("{}#call/{}.{}", unit.trajectory, unit.turn, unit.index);
        lines.push(body.line(id, [("budget", budget)], &calls));
    }
    Ok(lines)
}

/// The first sim runs of trajectories (environment, id), with all their calls.
pub(crate) async fn bodies(
    engine: &Engine,
    wanted: &BTreeSet<(String, String)>,
) -> EstimateResult<BTreeMap<(String, String), Body>> {
    let column = |of: fn(&(String, String)) -> String| -> ArrayRef {
        Arc::new(
            wanted
                .iter()
                .map(|pair| Some(of(pair)))
                .collect::<StringArray>(),
        )
    };
    let rows = RecordBatch::try_from_iter([
        ("environment", column(|pair| pair.0.clone())),
        ("trajectory_id", column(|pair| pair.1.clone())),
    ])
    .map_err(LakeError::from)?;
    engine.name_rows("budget_drawn", &rows.schema(), vec![rows])?;
    let mut bodies: BTreeMap<(String, String), Body> = BTreeMap::new();
    let mut rows = engine.stream(BODIES).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Columns(&batch);
        let names = [
            "environment",
            "trajectory_id",
            "task_id",
            "group_id",
            "policy",
            "labels",
            "extra",
            "call_id",
            "requestor",
            "name",
            "arguments_raw",
        ];
        let texts = names
            .iter()
            .map(|name| columns.texts(name))
            .collect::<Result<Vec<_>, _>>()?;
        let (turns, indexes) = (columns.integers("turn")?, columns.integers("index")?);
        for row in 0..batch.num_rows() {
            let get = |at: usize| text(&texts[at], row);
            let key = (get(0).unwrap_or_default(), get(1).unwrap_or_default());
            let body = bodies.entry(key.clone()).or_insert_with(|| {
                let mut body = Body::default();
                body.head.insert("fidelake".into(), 1.into());
                body.head.insert("environment".into(), key.0.into());
                body.head.insert("arm".into(), "sim".into());
                for (name, at) in [("task_id", 2), ("group_id", 3), ("policy", 4)] {
                    if let Some(value) = get(at) {
                        body.head.insert(name.into(), value.into());
                    }
                }
                if let Some(serde_json::Value::Object(labels)) =
                    get(5).and_then(|l| serde_json::from_str(&l).ok())
                {
                    body.labels = labels;
                }
                body.start_state = get(6).and_then(|extra| {
                    let doc = Doc::parse(&extra).ok()?;
                    Some(doc.root().get_some("start_state")?.raw().to_owned())
                });
                body
            });
            let (turn, index) = (turns.value(row), indexes.value(row));
            let mut json = serde_json::json!({
                "turn": turn, "index": index, "name": get(9), "arguments_raw": get(10).unwrap_or_else(|| "{}".into()),
            });
            for (name, at) in [("id", 7), ("requestor", 8)] {
                if let Some(value) = get(at) {
                    json[name] = value.into();
                }
            }
            body.calls.push(Call {
                turn,
                index,
                name: get(9).unwrap_or_default(),
                json,
            });
        }
    }
    Ok(bodies)
}
