//! Conversations in the chat form, shared by tau, tau2 and OpenAI records:
//! messages that make calls, and messages that answer them.
//!
//! Ids are not unique in real files: the same id stands for different calls in
//! one conversation. So a result is looked for only among the calls made since
//! the last result came in, the newest message first, and the id decides only
//! there. What does not fit is kept as it is and marked, never guessed.

use std::borrow::Cow;

use fidelake_core::json::{Kind, Node};
use fidelake_core::model::CallStatus;

use super::extra::Extra;
use super::native::text;
use super::run::{Answer, Call, Content, Message, Text};
use super::time::Time;

const MESSAGE_KEYS: &[&str] = &[
    "role",
    "content",
    "name",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "id",
    "timestamp",
    "requestor",
    "error",
    "turn_idx",
];

/// A conversation as read.
#[derive(Debug, Default)]
pub(crate) struct Chat<'d> {
    pub(crate) messages: Vec<Message<'d>>,
    pub(crate) calls: Vec<Call<'d>>,
}

/// What is known while reading.
#[derive(Default)]
struct Reader<'d> {
    chat: Chat<'d>,
    /// The last turn that was opened; -1 before the first.
    turn: i32,
    /// Next free index of that turn.
    next_index: i32,
    /// First call of the block: those made since the last result.
    block: usize,
    /// Results seen since the last message that made calls.
    results: i32,
    /// A result came in since the block began: the next calls begin another.
    answered: bool,
    /// A result of this block was attached by a guess, so the rest is one as well.
    guessed: bool,
}

/// Whether this is a chat message: an object with a known role.
pub(crate) fn is_message(node: Node<'_>) -> bool {
    const ROLES: &[&str] = &[
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
    ];
    let content = node.get("content").map(Node::kind);
    node.get_str("role")
        .is_some_and(|role| ROLES.contains(&role))
        && matches!(
            content,
            None | Some(Kind::Null | Kind::String | Kind::Array)
        )
}

/// Reads a list of messages.
pub(crate) fn read<'d>(messages: Node<'d>) -> Chat<'d> {
    let mut reader = Reader {
        turn: -1,
        ..Reader::default()
    };
    for node in messages.elements() {
        reader.message(node);
    }
    reader.chat
}

impl<'d> Reader<'d> {
    fn message(&mut self, node: Node<'d>) {
        let role = node.get_str("role").unwrap_or_default();
        let sent_at = node.get("timestamp").and_then(Time::of);
        let mut message = Message {
            role: Cow::Borrowed(role),
            content: Content::of(node.get("content")),
            name: text(node, "name"),
            calls: Vec::new(),
            result_of: None,
            sent_at: sent_at.clone(),
            extra: Extra::of(node, MESSAGE_KEYS),
        };
        if matches!(role, "tool" | "function") {
            message.result_of = Some(self.result(node));
            message.content = Content::Observation;
        } else {
            message.calls = self.calls(node, role, sent_at);
        }
        self.chat.messages.push(message);
    }

    /// Opens a turn if the message makes calls.
    fn calls(
        &mut self,
        node: Node<'d>,
        role: &'d str,
        sent_at: Option<Time<'d>>,
    ) -> Vec<(i32, i32)> {
        let listed = node
            .get_some("tool_calls")
            .filter(|calls| !calls.is_empty());
        let legacy = node
            .get_some("function_call")
            .filter(|call| call.kind() == Kind::Object);
        if listed.is_none() && legacy.is_none() {
            return Vec::new();
        }
        self.turn += 1;
        self.next_index = 0;
        if self.answered {
            self.block = self.chat.calls.len();
            self.answered = false;
            self.guessed = false;
        }
        self.results = 0;
        let mut places = Vec::new();
        for node in listed.into_iter().flat_map(Node::elements).chain(legacy) {
            let mut call = call(node, self.turn, self.next_index);
            if call.requestor.is_none() {
                call.requestor = Some(Cow::Borrowed(role));
            }
            call.started_at.clone_from(&sent_at);
            places.push((call.turn, call.index));
            self.next_index += 1;
            self.chat.calls.push(call);
        }
        places
    }

    /// Finds the call that a result answers, or keeps it as an orphan.
    fn result(&mut self, node: Node<'d>) -> (i32, i32) {
        let id = node
            .get_str("tool_call_id")
            .or_else(|| node.get_str("id"))
            .filter(|id| !id.is_empty());
        let name = node.get_str("name").filter(|name| !name.is_empty());
        let found = self.find(id, name);
        let order = self.results;
        self.results += 1;
        self.answered = true;
        let answer = answer(node);
        let Some((at, pairing, sure)) = found else {
            let mut call = Call::unanswered(self.turn, self.next_index, name.map(Cow::Borrowed));
            self.next_index += 1;
            call.id = id.map(Cow::Borrowed);
            call.requestor = text(node, "requestor");
            call.status = CallStatus::OrphanResult;
            call.result_order = Some(order);
            call.result = Some(answer);
            let place = (call.turn, call.index);
            self.chat.calls.push(call);
            return place;
        };
        let sent_at = node.get("timestamp").and_then(Time::of);
        self.guessed |= !sure;
        let call = &mut self.chat.calls[at];
        let mut answer = answer;
        let times = (call.started_at.as_ref(), sent_at.as_ref());
        if let (Some(asked), Some(answered)) = times
            && let (Some(from), Some(to)) = (asked.micros, answered.micros)
            && to >= from
        {
            answer.latency_ms = Some((to - from) as f64 / 1000.0);
            answer.latency_source = Some("timestamps");
        }
        call.status = if sure {
            CallStatus::Answered
        } else {
            CallStatus::AmbiguousResult
        };
        call.pairing = Some(pairing);
        call.result_order = Some(order);
        call.result = Some(answer);
        (call.turn, call.index)
    }

    /// The unanswered call of the block that this result belongs to, by which
    /// rule, and whether nothing else was possible.
    fn find(&self, id: Option<&str>, name: Option<&str>) -> Option<(usize, &'static str, bool)> {
        let open: Vec<usize> = (self.block..self.chat.calls.len())
            .filter(|&at| self.chat.calls[at].status == CallStatus::NoResult)
            .collect();
        let call = |at: usize| &self.chat.calls[at];
        if let Some(id) = id {
            // Newest turn first, calls of a turn in their order.
            let mut same: Vec<usize> = open
                .iter()
                .copied()
                .filter(|&at| call(at).id.as_deref() == Some(id))
                .collect();
            same.sort_by_key(|&at| (-call(at).turn, at));
            if let Some(&first) = same.first() {
                let turn = call(first).turn;
                same.retain(|&at| call(at).turn == turn);
                // The same id twice in one turn: the names may still tell them apart.
                let named: Vec<usize> = same
                    .iter()
                    .copied()
                    .filter(|&at| name.is_some() && call(at).name.as_deref() == name)
                    .collect();
                let sure = !self.guessed;
                return match (same.as_slice(), named.as_slice()) {
                    ([only], _) => Some((*only, "id", sure)),
                    (_, [only]) => Some((*only, "id", true)),
                    _ => Some((first, "id", false)),
                };
            }
            // Calls without ids can still be told by being the only one.
            if open.iter().any(|&at| call(at).id.is_some()) {
                return None;
            }
        }
        if let [only] = open[..] {
            let fits = name.is_none_or(|name| call(only).name.as_deref() == Some(name));
            return fits.then_some((only, "only", !self.guessed));
        }
        if let Some(name) = name {
            let mut named = open
                .iter()
                .copied()
                .filter(|&at| call(at).name.as_deref() == Some(name));
            return match (named.next(), named.next()) {
                (Some(at), None) => Some((at, "name", true)),
                (Some(at), Some(_)) => Some((at, "name", false)),
                (None, _) => None,
            };
        }
        // Results without id and name: their order is all there is.
        open.first().map(|&at| (at, "position", false))
    }
}

fn call(node: Node<'_>, turn: i32, index: i32) -> Call<'_> {
    // {function: {name, arguments}}, {custom: {name, input}}, or the fields themselves.
    let inner = ["function", "custom"]
        .iter()
        .find_map(|key| node.get_some(key).filter(|n| n.kind() == Kind::Object))
        .unwrap_or(node);
    let arguments = ["arguments", "input"].iter().find_map(|key| inner.get(key));
    let known = [
        "id",
        "type",
        "function",
        "custom",
        "name",
        "arguments",
        "input",
        "requestor",
        "index",
    ];
    Call {
        id: text(node, "id").or_else(|| text(node, "call_id")),
        requestor: text(node, "requestor"),
        arguments: arguments.map(arguments_text),
        extra: Extra::of(node, &known),
        ..Call::unanswered(turn, index, text(inner, "name"))
    }
}

/// The text of a string, the JSON of anything else.
pub(crate) fn arguments_text(node: Node<'_>) -> Text<'_> {
    Cow::Borrowed(node.as_str().unwrap_or_else(|| node.raw()))
}

fn answer(node: Node<'_>) -> Answer<'_> {
    Answer {
        content: node.get("content"),
        is_error: node.get("error").and_then(Node::as_bool),
        ..Answer::default()
    }
}
