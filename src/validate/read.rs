//! From a lake to profiles and verdicts side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{Array as _, AsArray as _, Float64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::record_batch::RecordBatch;
use fidelake_core::json::Doc;

use super::Request;
use super::data::{Data, Item, Judged};
use super::error::{ValidateError, ValidateResult};
use crate::engine::{Engine, EngineError};

const ITEMS: &str = include_str!("../../queries/validate/items.sql");
const VERDICTS: &str = include_str!("../../queries/validate/verdicts.sql");

pub(super) async fn read(engine: &Engine, request: &Request) -> ValidateResult<Data> {
    let mut data = Data::default();
    let mut places = HashMap::new();
    let mut known = BTreeSet::new();
    let mut sources: BTreeMap<String, u64> = BTreeMap::new();
    for batch in engine.query(ITEMS).await?.1 {
        let rows = Rows(&batch);
        let [environments, ids, tasks] = [
            rows.texts("environment")?,
            rows.texts("trajectory_id")?,
            rows.texts("task_id")?,
        ];
        let labels = [rows.texts("labels_sim")?, rows.texts("labels_real")?];
        let source = rows.texts("gold_source")?;
        let numbers = [
            "decision_signed",
            "decision_obs",
            "decision_act",
            "decision_rew",
            "delta_trans",
            "surface",
            "tools_added",
            "query_changed",
            "run_obs",
            "run_act",
        ];
        let numbers = numbers.map(|name| rows.numbers(name));
        let [
            signed,
            obs,
            act,
            rew,
            trans,
            surface,
            added,
            changed,
            run_obs,
            run_act,
        ] = numbers;
        let parts = [obs?, act?, rew?, trans?];
        let ran = [run_obs?, run_act?];
        let (signed, surface, added, changed) = (signed?, surface?, added?, changed?);
        let equal = rows.column("equal")?.as_boolean().clone();
        for row in 0..batch.num_rows() {
            let given = labels.each_ref().map(|labels| text(labels, row));
            if !chosen(&request.only, given) {
                continue;
            }
            let Some(label) = label(&request.by, given, &mut known) else {
                data.unlabelled += 1;
                continue;
            };
            let group = data.labels.place(&label);
            let key = (environments.value(row), tasks.value(row));
            let task = data.tasks.place(&format!("{}/{}", key.0, key.1));
            *sources
                .entry(text(&source, row).unwrap_or("unknown").to_owned())
                .or_default() += 1;
            let id = (
                environments.value(row).to_owned(),
                ids.value(row).to_owned(),
            );
            places.insert(id, data.items.len());
            data.items.push(Item {
                group,
                task,
                signed: number(&signed, row),
                parts: parts.each_ref().map(|part| number(part, row)),
                ran: ran.each_ref().map(|part| number(part, row)),
                surface: number(&surface, row),
                added: number(&added, row),
                changed: number(&changed, row).unwrap_or_default(),
                equal: equal.is_valid(row) && equal.value(row),
            });
        }
    }
    data.sources = sources.into_iter().collect();
    if data.items.is_empty() {
        return Err(match data.unlabelled {
            0 => ValidateError::TooLittle(
                "there are no profiles yet: run `fidelake profile` first".into(),
            ),
            _ => ValidateError::NoLabel {
                label: request.by.join(", "),
                known: match known.is_empty() {
                    true => "the runs have no labels (key `labels` of the native form)".into(),
                    false => format!("there are {}", Vec::from_iter(known).join(", ")),
                },
            },
        });
    }
    verdicts(engine, request, &places, &mut data).await?;
    Ok(data)
}

async fn verdicts(
    engine: &Engine,
    request: &Request,
    places: &HashMap<(String, String), usize>,
    data: &mut Data,
) -> ValidateResult<()> {
    let mut known = BTreeSet::new();
    for batch in engine.query(VERDICTS).await?.1 {
        let rows = Rows(&batch);
        let [environments, ids] = [rows.texts("environment")?, rows.texts("trajectory_id")?];
        let agents = rows.texts("agent")?;
        let (sim, real) = (rows.numbers("sim")?, rows.numbers("real")?);
        for row in 0..batch.num_rows() {
            let id = (
                environments.value(row).to_owned(),
                ids.value(row).to_owned(),
            );
            let Some(&item) = places.get(&id) else {
                continue;
            };
            let name = agents.value(row);
            if !known.contains(name) {
                known.insert(name.to_owned());
            }
            if !request.agents.is_empty() && !request.agents.iter().any(|agent| agent == name) {
                continue;
            }
            let agent = data.agents.place(name);
            data.judged.push(Judged {
                item,
                agent,
                sim: sim.value(row),
                real: real.value(row),
            });
        }
    }
    if known.is_empty() {
        return Err(ValidateError::TooLittle(
            "no trajectory has verdicts on both arms: without them nobody knows what happened to the agents".into(),
        ));
    }
    match request.agents.iter().find(|agent| !known.contains(*agent)) {
        Some(agent) => Err(ValidateError::NoAgent {
            agent: agent.clone(),
            known: Vec::from_iter(known).join(", "),
        }),
        None => Ok(()),
    }
}

/// Whether a trajectory has all of these values of labels on one of its arms.
fn chosen(only: &[(String, String)], given: [Option<&str>; 2]) -> bool {
    let docs = given.map(|text| text.and_then(|text| Doc::parse(text).ok()));
    only.iter().all(|(key, value)| {
        let mut found = docs
            .iter()
            .flatten()
            .filter_map(|doc| doc.root().get_some(key));
        found.any(|node| node.as_str().unwrap_or_else(|| node.raw()) == value)
    })
}

/// The values of the labels, of the first sim run or else of the first real one.
fn label(by: &[String], given: [Option<&str>; 2], known: &mut BTreeSet<String>) -> Option<String> {
    let docs = given.map(|text| text.and_then(|text| Doc::parse(text).ok()));
    for doc in docs.iter().flatten() {
        for (key, _) in doc.root().entries() {
            if !known.contains(key) {
                known.insert(key.to_owned());
            }
        }
    }
    let value = |name: &String| {
        let name = name.strip_prefix("labels.").unwrap_or(name);
        let found = docs
            .iter()
            .flatten()
            .find_map(|doc| doc.root().get_some(name))?;
        Some(found.as_str().unwrap_or_else(|| found.raw()).to_owned())
    };
    let values: Option<Vec<String>> = by.iter().map(value).collect();
    values.map(|values| values.join(" / "))
}

struct Rows<'b>(&'b RecordBatch);

impl Rows<'_> {
    fn column(&self, name: &str) -> Result<arrow::array::ArrayRef, EngineError> {
        let found = self.0.column_by_name(name).cloned();
        found.ok_or_else(|| EngineError::Run(format!("queries/validate: no column {name}")))
    }

    fn cast(&self, name: &str, to: &DataType) -> Result<arrow::array::ArrayRef, EngineError> {
        cast(&self.column(name)?, to).map_err(|e| EngineError::Run(e.to_string()))
    }

    fn texts(&self, name: &str) -> Result<StringArray, EngineError> {
        Ok(self.cast(name, &DataType::Utf8)?.as_string::<i32>().clone())
    }

    fn numbers(&self, name: &str) -> Result<Float64Array, EngineError> {
        let numbers = self.cast(name, &DataType::Float64)?;
        Ok(numbers.as_primitive::<Float64Type>().clone())
    }
}

fn text(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}

fn number(numbers: &Float64Array, row: usize) -> Option<f64> {
    numbers.is_valid(row).then(|| numbers.value(row))
}
