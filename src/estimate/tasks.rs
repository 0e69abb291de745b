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
use super::read::{Columns, text};
use super::rounds::DrawLabel;
use crate::dual::{Plan, Switches};
use crate::engine::Engine;
use crate::lake::LakeError;

const BODIES: &str = include_str!("../../queries/estimate/bodies.sql");

/// A plan whose trajectories are not taken: it says where and how calls are made.
#[derive(Debug)]
pub(super) struct Template {
    path: PathBuf,
    table: toml::Table,
    pub(super) reads: BTreeSet<String>,
    allow: BTreeSet<String>,
    /// Whether the environment itself may permit what the plan does not list.
    declares: bool,
    repeats: f64,
    pub(super) rate: Option<f64>,
}

impl Template {
    pub(super) fn read(path: &Path) -> EstimateResult<Self> {
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
    pub(super) fn permits(&self, tool: &str) -> bool {
        self.declares
            || self.reads.contains(tool)
            || self.allow.contains(tool)
            || self.allow.contains("*")
    }

    /// Real calls of so many calls with all repeats.
    pub(super) fn times(&self, calls: u64) -> u64 {
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
    let folder = template.path.parent().unwrap_or(Path::new(""));
    let tasks = format!("{}.tasks.jsonl", written.name);
    replace(&folder.join(&tasks), lines.concat().as_bytes())?;
    let mut table = template.table.clone();
    table.insert("name".into(), written.name.clone().into());
    table.insert("budget_of".into(), written.campaign.clone().into());
    let trajectories: toml::Table = [("file".to_owned(), toml::Value::from(tasks))]
        .into_iter()
        .collect();
    table.insert("trajectories".into(), trajectories.into());
    if let Some(real) = table.get_mut("real").and_then(toml::Value::as_table_mut) {
        real.insert(
            "budget".into(),
            i64::try_from(written.budget).unwrap_or(i64::MAX).into(),
        );
    }
    let body = toml::to_string(&table).map_err(|e| EstimateError::TooLittle(e.to_string()))?;
    let head = format!(
        "# A round of campaign {}, made by `fidelake plan` from {}.\n# All its rounds spend one budget of {} real calls.\n",
        written.campaign,
        template.path.file_name().unwrap_or_default().display(),
        written.budget
    );
    let path = folder.join(format!("{}.toml", written.name));
    replace(&path, format!("{head}{body}").as_bytes())?;
    Plan::read(&path, Switches::default())?;
    Ok(path)
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
struct Call {
    turn: i64,
    index: i64,
    name: String,
    json: serde_json::Value,
}

/// A trajectory with all its calls.
#[derive(Default)]
struct Body {
    head: serde_json::Map<String, serde_json::Value>,
    labels: serde_json::Map<String, serde_json::Value>,
    start_state: Option<String>,
    calls: Vec<Call>,
}

/// One run in the native form per draw: the state-changing calls before it, and itself.
async fn lines(
    engine: &Engine,
    pool: &LakePool,
    reads: &BTreeSet<String>,
    drawn: &[(Chosen, DrawLabel)],
) -> EstimateResult<Vec<String>> {
    let bodies = bodies(engine, pool, drawn).await?;
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
        let mut labels = body.labels.clone();
        let budget =
            serde_json::to_value(label).map_err(|e| EstimateError::TooLittle(e.to_string()))?;
        labels.insert("budget".into(), budget);
        let mut head = body.head.clone();
        let id = format!("{}#call/{}.{}", unit.trajectory, unit.turn, unit.index);
        head.insert("trajectory_id".into(), id.into());
        head.insert("labels".into(), labels.into());
        head.insert("calls".into(), serde_json::json!(calls));
        let mut line = serde_json::Value::Object(head).to_string();
        if let Some(state) = &body.start_state {
            // As given: numbers in it may be larger than a JSON library keeps.
            line.pop();
            line.push_str(&format!(",\"start_state\":{state}}}"));
        }
        line.push('\n');
        lines.push(line);
    }
    Ok(lines)
}

async fn bodies(
    engine: &Engine,
    pool: &LakePool,
    drawn: &[(Chosen, DrawLabel)],
) -> EstimateResult<BTreeMap<(String, String), Body>> {
    let wanted: BTreeSet<(&str, &str)> = drawn
        .iter()
        .map(|(chosen, _)| &pool.units[chosen.unit])
        .map(|unit| (unit.environment.as_str(), unit.trajectory.as_str()))
        .collect();
    let column = |of: fn(&(&str, &str)) -> String| -> ArrayRef {
        Arc::new(
            wanted
                .iter()
                .map(|pair| Some(of(pair)))
                .collect::<StringArray>(),
        )
    };
    let rows = RecordBatch::try_from_iter([
        ("environment", column(|pair| pair.0.to_owned())),
        ("trajectory_id", column(|pair| pair.1.to_owned())),
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
