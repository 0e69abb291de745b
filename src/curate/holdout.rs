//! Named hold-out files: tasks that must not be trained on.
//!
//! Read as people keep them: a JSON array, an object with a list of tasks, or JSON
//! Lines; tau-bench, tau2-bench and BFCL tasks and fidelake's own runs among them.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use fidelake_core::json::Doc;
use fidelake_core::json::key::{KeyHasher, call_key};
use serde_json::Value;

use super::error::{CurateError, CurateResult};
use super::recipe::Recipe;
use super::recipe_rules::Holdout;
use crate::formats::unpacked;

/// A task that must not be trained on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
    /// Hashes of its calls, as `calls.call_key`.
    pub(super) calls: Vec<u64>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct HoldoutSet {
    pub(super) blake3: String,
    pub(super) entries: Vec<Entry>,
}

/// Where a file of the recipe is.
fn place(recipe_path: &Path, file: &str) -> PathBuf {
    recipe_path.parent().unwrap_or(Path::new("")).join(file)
}

/// The text of a file, plain or compressed.
fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    // A pipe would wait for whoever writes it, and be empty for the next command.
    if !std::fs::metadata(file)?.is_file() {
        return Err(std::io::Error::other("a hold-out set is a file"));
    }
    unpacked(std::fs::File::open(file)?)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads every hold-out file of a recipe.
pub(super) fn read_holdouts(recipe: &Recipe, path: &Path) -> CurateResult<Vec<HoldoutSet>> {
    let sets = recipe.rules.holdouts.iter().map(|part| {
        let file = place(path, &part.file);
        let text = read(&file).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                let message = format!(
                    "there is no hold-out file {} (its path is taken from the recipe's folder)",
                    file.display()
                );
                CurateError::from(recipe.mistake(path, part.at, message))
            }
            _ => CurateError::io(&file, e),
        })?;
        let mut hasher = KeyHasher::default();
        hasher.update(text.as_bytes());
        let entries = parse(&text).map_err(|(line, why)| CurateError::Holdout {
            file: file.clone(),
            line,
            why,
        })?;
        Ok(HoldoutSet {
            blake3: hasher.hex(),
            entries,
        })
    });
    sets.collect()
}

/// Line and reason.
type Broken = (usize, String);

fn parse(text: &str) -> Result<Vec<Entry>, Broken> {
    let values = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(list)) => list,
        Ok(Value::Object(mut object)) => {
            const LISTS: [&str; 6] = ["tasks", "data", "items", "rows", "examples", "test"];
            let list = LISTS.iter().find_map(|key| match object.get_mut(*key) {
                Some(Value::Array(list)) => Some(std::mem::take(list)),
                _ => None,
            });
            list.unwrap_or_else(|| vec![Value::Object(object)])
        }
        Ok(_) => {
            return Err((
                1,
                "a hold-out file is a list of tasks: JSON objects, in an array or one a line"
                    .into(),
            ));
        }
        Err(whole) => lines(text, &whole)?,
    };
    if values.is_empty() {
        return Err((1, "it holds no task".into()));
    }
    let mut entries = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let entry = entry(value);
        if entry == Entry::default() {
            let why = format!(
                "record {} has neither an id (id, task_id), nor a task text (task, instruction, question, ...), nor calls (calls, actions, gold)",
                at + 1
            );
            return Err((0, why));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn lines(text: &str, whole: &serde_json::Error) -> Result<Vec<Value>, Broken> {
    let mut values = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match serde_json::from_str(line) {
            Ok(value) => values.push(value),
            // An array or object over several lines: its own place is the right one.
            Err(_) if at == 0 => return Err((whole.line(), format!("not JSON: {whole}"))),
            Err(e) => {
                // The parser counts lines within the line.
                let text = e.to_string();
                let text = text.replace(&format!("line {} column", e.line()), "column");
                return Err((at + 1, format!("not JSON: {text}")));
            }
        }
    }
    Ok(values)
}

fn entry(value: &Value) -> Entry {
    let task = &value["info"]["task"];
    let first = |paths: &[&Value]| paths.iter().find_map(|v| said(v));
    let id = ["task_id", "id", "question_id"]
        .iter()
        .find_map(|key| match &value[*key] {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
    let text = first(&[
        &value["task"],
        &value["instruction"],
        &value["question"],
        &value["query"],
        &value["prompt"],
        &value["ticket"],
        &task["instruction"],
        &value["user_scenario"]["instructions"],
    ]);
    let lists = [
        &value["calls"],
        &value["gold"],
        &value["actions"],
        &value["evaluation_criteria"]["actions"],
        &task["actions"],
    ];
    let list = lists
        .into_iter()
        .find(|list| list.as_array().is_some_and(|l| !l.is_empty()));
    let calls = list.and_then(Value::as_array).into_iter().flatten();
    Entry {
        id,
        text,
        calls: calls.filter_map(call).collect(),
    }
}

/// A text, what users say in a list of messages, or all texts of an object.
fn said(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let parts = list.iter().filter_map(|item| match item.get("content") {
                Some(content) if item["role"] == "user" || item["role"].is_null() => said(content),
                Some(_) => None,
                None => said(item),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(object) => {
            let parts = object.values().filter_map(said);
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn call(value: &Value) -> Option<u64> {
    let inner = value
        .get("function")
        .filter(|f| f.is_object())
        .unwrap_or(value);
    let name = inner["name"].as_str()?;
    let keys = ["arguments", "kwargs", "parameters", "arguments_raw"];
    let given = keys.iter().find_map(|key| inner.get(*key));
    let object = match given {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let doc = Doc::parse(&object).ok();
    let key = call_key(name, doc.as_ref().map(Doc::root), &object);
    Some(key.bits() as u64)
}

impl Holdout {
    /// Whether it speaks of an environment.
    pub(super) fn covers(&self, environment: &str) -> bool {
        self.environment
            .as_deref()
            .is_none_or(|own| own == environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_as_people_keep_them() {
        let tau = r#"[{"task_id": 3, "info": {"task": {"instruction": "Fly to Rome", "actions": [{"name": "book", "kwargs": {"to": "FCO"}}]}}}]"#;
        let tau2 = r#"{"tasks": [{"id": "3", "user_scenario": {"instructions": {"reason_for_call": "Fly to Rome"}},
            "evaluation_criteria": {"actions": [{"name": "book", "arguments": {"to": "FCO"}}]}}]}"#;
        let native = "{\"task_id\": \"3\", \"task\": \"Fly to Rome\", \"calls\": [{\"name\": \"book\", \"arguments_raw\": \"{\\\"to\\\":\\\"FCO\\\"}\"}]}\n\n";
        let all = [tau, tau2, native].map(|text| parse(text).unwrap());
        assert_eq!((&all[0], &all[1]), (&all[1], &all[2]));
        let entry = &all[0][0];
        assert_eq!(
            (
                entry.id.as_deref(),
                entry.text.as_deref(),
                entry.calls.len()
            ),
            (Some("3"), Some("Fly to Rome"), 1)
        );
        let bfcl =
            r#"{"id": "multi_1", "question": [[{"role": "user", "content": "Sort it"}], []]}"#;
        assert_eq!(parse(bfcl).unwrap()[0].text.as_deref(), Some("Sort it"));
    }

    #[test]
    fn what_is_broken_is_said_with_its_line() {
        let broken = |text: &str| parse(text).unwrap_err();
        assert_eq!(broken("{\"id\": 1}\n{\"id\": \n").0, 2);
        assert_eq!(broken("[\n{\"id\": 1},\n{]").0, 3);
        assert!(broken("[]").1.contains("no task"));
        assert!(broken("[{\"x\": 1}]").1.contains("record 1"));
        assert!(broken("3").1.contains("list of tasks"));
    }
}
