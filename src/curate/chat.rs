//! From the rows of a run to a conversation in the OpenAI chat form.
//!
//! Ids of calls are made unique per run, because real ids are not. A call whose
//! arguments are no JSON keeps its text: what the agent wrote is not repaired.
//! What the form has no place for is left out and counted: results without a
//! call, and calls that the user made.

use std::collections::{HashMap, HashSet};

use fidelake_core::json::{Doc, Kind};
use serde::{Deserialize, Serialize};

use super::json::{Sanitised, joined, push_value, text_of};
use super::message::{Chat, Content, Message, ToolCall};

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
    /// The answers are not those that the recorded messages hold.
    pub(super) repaired: bool,
}

/// How the conversations came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl ChatCounts {
    /// Counts of other rows.
    pub(super) fn add(&mut self, other: &Self) {
        self.rebuilt += other.rebuilt;
        self.without_prompt += other.without_prompt;
        self.ids_made += other.ids_made;
        self.arguments_not_object += other.arguments_not_object;
        self.calls_without_result += other.calls_without_result;
        self.orphan_results += other.orphan_results;
        self.user_calls += other.user_calls;
        self.calls_outside += other.calls_outside;
        self.sanitised.add(&other.sanitised);
    }
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
        repaired: parts.repaired,
        counts,
    }
    .build(parts)
}

struct Builder<'a> {
    calls: HashMap<(i32, i32), &'a CallRow>,
    answers: HashMap<(i32, i32), &'a ObservationRow>,
    /// Ids of the calls that are written.
    ids: HashMap<(i32, i32), String>,
    messages: Vec<Message>,
    /// How many messages stand before the first of the assistant.
    before_assistant: Option<usize>,
    repaired: bool,
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
        let task = parts.task.as_deref().filter(|_| before == 0);
        self.counts.without_prompt += u64::from(before == 0 && task.is_none());
        Chat {
            before,
            task: task.map(Message::user),
            messages: self.messages,
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
                    "text" | "json" if !self.repaired => {
                        message.content.clone().unwrap_or_default()
                    }
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
        let content = match (&message.content, message.kind.as_str()) {
            (Some(text), "text") => Content::Text(text.clone()),
            (Some(json), "json") => self.json_content(json),
            _ if calls.is_empty() => Content::Text(String::new()),
            _ => Content::Null,
        };
        let calls = self.tool_calls(&calls);
        self.messages.push(Message {
            role: message.role.clone(),
            name: message.name.clone(),
            content,
            calls,
            answers: None,
        });
    }

    /// A list of content parts stays a list; anything else becomes its text.
    fn json_content(&mut self, json: &str) -> Content {
        match Doc::parse(json) {
            Ok(doc) if doc.root().kind() == Kind::Array => {
                let mut out = String::new();
                push_value(doc.root(), &mut out, &mut self.counts.sanitised);
                Content::Parts(out)
            }
            _ => Content::Text(text_of(json, &mut self.counts.sanitised)),
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
            self.messages.push(Message::user(task));
        }
        said.into_iter().for_each(|message| self.recorded(message));
        for turn in own.chunk_by(|a, b| a.turn == b.turn) {
            self.before_assistant.get_or_insert(self.messages.len());
            let places: Vec<(i32, i32)> = turn.iter().map(|c| (c.turn, c.index)).collect();
            let calls = self.tool_calls(&places);
            self.messages.push(Message {
                role: "assistant".into(),
                calls,
                ..Message::default()
            });
            for place in places {
                if self.answers.contains_key(&place) {
                    let content = self.answer(place);
                    self.tool(place, &content);
                }
            }
        }
    }

    fn tool_calls(&mut self, places: &[(i32, i32)]) -> Vec<ToolCall> {
        let mut made = Vec::with_capacity(places.len());
        for place in places {
            let Some(call) = self.calls.get(place).copied() else {
                continue;
            };
            let raw = call.arguments.as_deref().unwrap_or_default();
            let arguments = match call.arguments_status.as_str() {
                "empty" => "{}".to_owned(),
                "object" => text_of(raw, &mut self.counts.sanitised),
                _ => {
                    self.counts.arguments_not_object += 1;
                    raw.to_owned()
                }
            };
            let answered = self.answers.contains_key(place);
            self.counts.calls_without_result += u64::from(!answered);
            made.push(ToolCall {
                place: *place,
                id: self.ids.get(place).cloned().unwrap_or_default(),
                name: call.name.clone().unwrap_or_default(),
                arguments,
            });
        }
        made
    }

    fn tool(&mut self, place: (i32, i32), content: &str) {
        let call = self.calls.get(&place);
        self.messages.push(Message {
            role: "tool".into(),
            name: call.and_then(|call| call.name.clone()),
            content: Content::Text(content.to_owned()),
            calls: Vec::new(),
            answers: Some(self.ids.get(&place).cloned().unwrap_or_default()),
        });
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

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
