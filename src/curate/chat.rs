//! From the rows of a run to a conversation in the OpenAI chat form.
//!
//! Ids of calls are made unique per run, because real ids are not. A call whose
//! arguments are no JSON keeps its text: what the agent wrote is not repaired.
//! What the form has no place for is left out and counted: results without a
//! call, and calls that the user made.

use std::collections::{HashMap, HashSet};

use fidelake_core::json::{Doc, Kind, push_json_string};
use serde::Serialize;

use super::json::{Sanitised, push_value, separate, text_of};

/// A row of table `messages`.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageRow {
    pub(super) role: String,
    pub(super) content: Option<String>,
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) calls: Vec<(i32, i32)>,
    pub(super) result: Option<(i32, i32)>,
}

/// A row of table `calls`.
#[derive(Clone, Debug, Default)]
pub(super) struct CallRow {
    pub(super) turn: i32,
    pub(super) index: i32,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) requestor: Option<String>,
    pub(super) arguments: Option<String>,
    pub(super) arguments_status: String,
    pub(super) call_status: String,
}

/// A row of table `observations`.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservationRow {
    pub(super) turn: i32,
    pub(super) index: i32,
    pub(super) content: Option<String>,
    pub(super) kind: String,
    pub(super) structured: Option<String>,
}

/// All rows of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) task: Option<String>,
    pub(super) messages: Vec<MessageRow>,
    pub(super) calls: Vec<CallRow>,
    pub(super) observations: Vec<ObservationRow>,
}

/// How the conversations came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ChatCounts {
    /// Made from calls and answers, because no conversation was recorded.
    pub(super) rebuilt: u64,
    /// Runs with neither a message nor a task before the first assistant message.
    pub(super) without_prompt: u64,
    /// Calls that got an id of ours.
    pub(super) ids_made: u64,
    /// Calls whose arguments are no JSON object; their text stands as it was.
    pub(super) arguments_not_object: u64,
    /// Calls without a result.
    pub(super) calls_without_result: u64,
    /// Results that answer no call: left out.
    pub(super) orphan_results: u64,
    /// Calls that the user made: left out.
    pub(super) user_calls: u64,
    /// Calls that no message of the recorded conversation makes: left out.
    pub(super) calls_outside: u64,
    #[serde(flatten)]
    pub(super) sanitised: Sanitised,
}

/// A conversation, as two JSON texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chat {
    /// The messages before the first of the assistant, or the task as one message.
    pub(super) prompt: String,
    /// The whole conversation.
    pub(super) messages: String,
}

/// Builds the conversation of a run.
pub(super) fn conversation(parts: &Parts, counts: &mut ChatCounts) -> Chat {
    Builder {
        calls: parts
            .calls
            .iter()
            .map(|call| ((call.turn, call.index), call))
            .collect(),
        answers: parts
            .observations
            .iter()
            .map(|answer| ((answer.turn, answer.index), answer))
            .collect(),
        ids: HashMap::new(),
        messages: Vec::new(),
        before_assistant: None,
        counts,
    }
    .build(parts)
}

struct Builder<'a> {
    calls: HashMap<(i32, i32), &'a CallRow>,
    answers: HashMap<(i32, i32), &'a ObservationRow>,
    /// Ids of the calls that are written.
    ids: HashMap<(i32, i32), String>,
    messages: Vec<String>,
    /// How many messages stand before the first of the assistant.
    before_assistant: Option<usize>,
    counts: &'a mut ChatCounts,
}

impl<'a> Builder<'a> {
    fn build(mut self, parts: &'a Parts) -> Chat {
        let own: Vec<&CallRow> = parts.calls.iter().filter(|call| is_own(call)).collect();
        let orphans = parts.calls.iter().filter(|call| is_orphan(call)).count();
        self.counts.orphan_results += orphans as u64;
        self.counts.user_calls += (parts.calls.len() - orphans - own.len()) as u64;
        let made: HashSet<(i32, i32)> = parts
            .messages
            .iter()
            .filter(|message| message.role == "assistant")
            .flat_map(|message| message.calls.iter().copied())
            .collect();
        let recorded = parts.messages.iter().any(|m| m.role == "assistant")
            && (own.is_empty() || !made.is_empty());
        if recorded {
            let written: Vec<&CallRow> = own
                .iter()
                .copied()
                .filter(|call| made.contains(&(call.turn, call.index)))
                .collect();
            self.counts.calls_outside += (own.len() - written.len()) as u64;
            self.name_calls(&written);
            parts
                .messages
                .iter()
                .for_each(|message| self.recorded(message));
        } else {
            self.counts.rebuilt += 1;
            self.name_calls(&own);
            self.rebuilt(parts, &own);
        }
        let before = self.before_assistant.unwrap_or(self.messages.len());
        let prompt = if before > 0 {
            list(&self.messages[..before])
        } else if let Some(task) = &parts.task {
            list(&[user(task)])
        } else {
            self.counts.without_prompt += 1;
            "[]".to_owned()
        };
        Chat {
            prompt,
            messages: list(&self.messages),
        }
    }

    /// The original id where it is the only one of its kind, else `call_{turn}_{index}`.
    fn name_calls(&mut self, written: &[&CallRow]) {
        let mut times: HashMap<&str, usize> = HashMap::new();
        let given = |call: &'_ CallRow| call.id.clone().filter(|id| !id.is_empty());
        for call in written {
            if let Some(id) = call.id.as_deref() {
                *times.entry(id).or_default() += 1;
            }
        }
        let unique = |id: &str| times.get(id) == Some(&1);
        let mut taken: HashSet<String> = written
            .iter()
            .filter_map(|call| given(call))
            .filter(|id| unique(id))
            .collect();
        for call in written {
            let id = match given(call).filter(|id| unique(id)) {
                Some(id) => id,
                None => {
                    self.counts.ids_made += 1;
                    let mut id = format!("call_{}_{}", call.turn, call.index);
                    while !taken.insert(id.clone()) {
                        id.push('_');
                    }
                    id
                }
            };
            self.ids.insert((call.turn, call.index), id);
        }
    }

    /// One message as it was recorded.
    fn recorded(&mut self, message: &MessageRow) {
        if let Some(place) = message.result {
            if self.ids.contains_key(&place) {
                let content = match message.kind.as_str() {
                    "text" | "json" => message.content.clone().unwrap_or_default(),
                    _ => self.answer(place),
                };
                self.tool(place, &content);
            }
            return;
        }
        let assistant = message.role == "assistant";
        if assistant {
            self.before_assistant.get_or_insert(self.messages.len());
        }
        let calls: Vec<(i32, i32)> = message
            .calls
            .iter()
            .copied()
            .filter(|place| assistant && self.ids.contains_key(place))
            .collect();
        let nothing = !matches!(message.kind.as_str(), "text" | "json");
        if nothing && !assistant && !message.calls.is_empty() {
            // All that this message did was to make calls that are left out.
            return;
        }
        let mut out = String::from("{\"role\":");
        push_json_string(&message.role, &mut out);
        if let Some(name) = &message.name {
            out.push_str(",\"name\":");
            push_json_string(name, &mut out);
        }
        out.push_str(",\"content\":");
        match (&message.content, message.kind.as_str()) {
            (Some(text), "text") => push_json_string(text, &mut out),
            (Some(json), "json") => self.json_content(json, &mut out),
            _ if calls.is_empty() => out.push_str("\"\""),
            _ => out.push_str("null"),
        }
        self.tool_calls(&calls, &mut out);
        out.push('}');
        self.messages.push(out);
    }

    /// A list of content parts stays a list; anything else becomes its text.
    fn json_content(&mut self, json: &str, out: &mut String) {
        match Doc::parse(json) {
            Ok(doc) if doc.root().kind() == Kind::Array => {
                push_value(doc.root(), out, &mut self.counts.sanitised);
            }
            _ => push_json_string(&text_of(json, &mut self.counts.sanitised), out),
        }
    }

    /// The task, then every turn with its results.
    fn rebuilt(&mut self, parts: &Parts, own: &[&CallRow]) {
        const BEFORE: [&str; 3] = ["system", "developer", "user"];
        let said: Vec<&MessageRow> = parts
            .messages
            .iter()
            .filter(|m| BEFORE.contains(&m.role.as_str()) && m.calls.is_empty())
            .collect();
        if said.is_empty()
            && let Some(task) = &parts.task
        {
            self.messages.push(user(task));
        }
        said.into_iter().for_each(|message| self.recorded(message));
        for turn in own.chunk_by(|a, b| a.turn == b.turn) {
            self.before_assistant.get_or_insert(self.messages.len());
            let places: Vec<(i32, i32)> = turn.iter().map(|c| (c.turn, c.index)).collect();
            let mut out = String::from("{\"role\":\"assistant\",\"content\":null");
            self.tool_calls(&places, &mut out);
            out.push('}');
            self.messages.push(out);
            for place in places {
                if self.answers.contains_key(&place) {
                    let content = self.answer(place);
                    self.tool(place, &content);
                }
            }
        }
    }

    fn tool_calls(&mut self, places: &[(i32, i32)], out: &mut String) {
        if places.is_empty() {
            return;
        }
        out.push_str(",\"tool_calls\":[");
        let mut first = true;
        for place in places {
            let Some(call) = self.calls.get(place).copied() else {
                continue;
            };
            separate(out, &mut first);
            out.push_str("{\"id\":");
            push_json_string(self.ids.get(place).map_or("", String::as_str), out);
            out.push_str(",\"type\":\"function\",\"function\":{\"name\":");
            push_json_string(call.name.as_deref().unwrap_or_default(), out);
            out.push_str(",\"arguments\":");
            let raw = call.arguments.as_deref().unwrap_or_default();
            match call.arguments_status.as_str() {
                "empty" => out.push_str("\"{}\""),
                "object" => push_json_string(&text_of(raw, &mut self.counts.sanitised), out),
                _ => {
                    self.counts.arguments_not_object += 1;
                    push_json_string(raw, out);
                }
            }
            out.push_str("}}");
            let answered = self.answers.contains_key(place);
            self.counts.calls_without_result += u64::from(!answered);
        }
        out.push(']');
    }

    fn tool(&mut self, place: (i32, i32), content: &str) {
        let mut out = String::from("{\"role\":\"tool\",\"tool_call_id\":");
        push_json_string(self.ids.get(&place).map_or("", String::as_str), &mut out);
        if let Some(name) = self.calls.get(&place).and_then(|call| call.name.as_deref()) {
            out.push_str(",\"name\":");
            push_json_string(name, &mut out);
        }
        out.push_str(",\"content\":");
        push_json_string(content, &mut out);
        out.push('}');
        self.messages.push(out);
    }

    /// What came back, as the text that an agent reads.
    fn answer(&mut self, place: (i32, i32)) -> String {
        let Some(answer) = self.answers.get(&place).copied() else {
            return String::new();
        };
        let sanitised = &mut self.counts.sanitised;
        match (&answer.content, answer.kind.as_str()) {
            (Some(parts), "parts") => match joined(parts) {
                Some(text) => text,
                None => text_of(parts, sanitised),
            },
            (Some(json), "json") => text_of(json, sanitised),
            (Some(text), _) => text.clone(),
            (None, kind) => match (&answer.structured, kind) {
                (Some(json), _) => text_of(json, sanitised),
                (None, "null") => "null".to_owned(),
                (None, _) => String::new(),
            },
        }
    }
}

/// A call of the agent: orphans are results without a call, and users call too.
fn is_own(call: &CallRow) -> bool {
    !is_orphan(call) && call.requestor.as_deref() != Some("user")
}

fn is_orphan(call: &CallRow) -> bool {
    call.call_status == "orphan_result"
}

/// The text of a list of parts that are all texts.
fn joined(parts: &str) -> Option<String> {
    let doc = Doc::parse(parts).ok()?;
    let texts: Option<Vec<&str>> = doc
        .root()
        .elements()
        .map(|part| {
            (part.get_str("type") == Some("text"))
                .then(|| part.get_str("text"))
                .flatten()
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}

fn user(text: &str) -> String {
    let mut out = String::from("{\"role\":\"user\",\"content\":");
    push_json_string(text, &mut out);
    out.push('}');
    out
}

fn list(messages: &[String]) -> String {
    format!("[{}]", messages.join(","))
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
