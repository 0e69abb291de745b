//! What stands between a server and rmcp, and keeps the evidence.
//!
//! rmcp runs the protocol, and cannot carry evidence: it rounds numbers, orders
//! keys, drops what it does not know, and never answers a call whose answer it
//! cannot read. So every message passes here first. The exact text of each
//! answer stays here, by the number of its question; rmcp gets what it can
//! read, and of a call's result only that there is one.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fidelake_core::json::{Doc, Kind, Node, push_json_string};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};

use super::super::answer::Note;
use super::super::oddities::{MAX_NOISE, Oddities};
use super::super::text::{names_id, strict};

/// JSON-RPC code of answers that we make for rmcp in the server's place.
const UNREADABLE: i32 = -32_099;
const METHOD_NOT_FOUND: i32 = -32_601;

/// An answer as it came.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    /// The whole message.
    pub(super) text: String,
    /// From writing the question to hearing the answer.
    pub(super) latency: Duration,
    /// Why it cannot be read: a word and what was seen.
    pub(super) unreadable: Option<(&'static str, String)>,
}

/// A question that left us.
#[derive(Clone, Debug)]
struct Asked {
    method: String,
    at: Instant,
}

/// What HTTP said where no JSON-RPC answer came.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: String,
    pub(super) latency: Duration,
}

#[derive(Debug, Default)]
struct Inner {
    asked: HashMap<u64, Asked>,
    answers: HashMap<u64, Raw>,
    refusals: HashMap<u64, Refusal>,
    given_up: BTreeSet<u64>,
    /// Arguments of the call at hand, as they are spelled.
    arguments: Option<String>,
    odd: Oddities,
    noise: u64,
    /// A broken line that names no question: the next late answer may have been it.
    suspect: Option<String>,
}

/// Shared by a session and its transport.
#[derive(Clone, Debug, Default)]
pub(super) struct Tap(Arc<Mutex<Inner>>);

impl Tap {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what belonged to earlier calls, and says how the next call's
    /// arguments are spelled.
    pub(super) fn prepare(&self, arguments: Option<String>) {
        let mut inner = self.inner();
        let Inner {
            asked, given_up, ..
        } = &mut *inner;
        given_up.extend(asked.drain().map(|(id, _)| id));
        inner.answers.clear();
        inner.refusals.clear();
        inner.suspect = None;
        inner.arguments = arguments;
    }

    /// The text of a message that is about to leave, and the number of its
    /// question. A call goes out with its arguments as they were spelled.
    pub(super) fn outgoing(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> Result<(String, Option<u64>), serde_json::Error> {
        let mut text = serde_json::to_string(message)?;
        let ClientJsonRpcMessage::Request(request) = message else {
            return Ok((text, None));
        };
        let Some(id) = number(&request.id) else {
            return Ok((text, None));
        };
        let method = request.request.method().to_owned();
        let mut inner = self.inner();
        if method == "tools/call"
            && let Some(arguments) = &inner.arguments
        {
            let place = Doc::parse(&text).ok().and_then(|doc| {
                let given = doc.root().get("params")?.get("arguments")?;
                Some(given.span())
            });
            if let Some(place) = place {
                text.replace_range(place, arguments);
            }
        }
        let at = Instant::now();
        inner.asked.insert(id, Asked { method, at });
        Ok((text, Some(id)))
    }

    /// Whether the question with this number has left us.
    pub(super) fn has_left(&self, id: u64) -> bool {
        let inner = self.inner();
        inner.asked.contains_key(&id) || inner.given_up.contains(&id)
    }

    /// It did not leave after all.
    pub(super) fn not_sent(&self, id: u64) {
        self.inner().asked.remove(&id);
    }

    /// Nobody waits for it any more.
    pub(super) fn give_up(&self, id: u64) {
        let mut inner = self.inner();
        inner.asked.remove(&id);
        inner.given_up.insert(id);
    }

    pub(super) fn take_answer(&self, id: u64) -> Option<Raw> {
        self.inner().answers.remove(&id)
    }

    pub(super) fn take_refusal(&self, id: u64) -> Option<Refusal> {
        self.inner().refusals.remove(&id)
    }

    pub(super) fn take_suspect(&self) -> Option<String> {
        self.inner().suspect.take()
    }

    pub(super) fn take_notes(&self) -> Vec<Note> {
        self.inner().odd.take()
    }

    pub(super) fn note(&self, kind: &'static str, text: impl Into<String>) {
        self.inner().odd.note(kind, text);
    }

    /// Whether there was so much noise that the server should be left.
    pub(super) fn is_flooded(&self) -> bool {
        self.inner().noise > MAX_NOISE
    }

    /// HTTP refused the question; rmcp gets an error in place of the answer.
    pub(super) fn refuse(
        &self,
        id: u64,
        status: u16,
        retry_after: Option<Duration>,
        body: String,
    ) -> Option<ServerJsonRpcMessage> {
        let mut inner = self.inner();
        let latency = inner.asked.remove(&id)?.at.elapsed();
        let refusal = Refusal {
            status,
            retry_after,
            body,
            latency,
        };
        inner.refusals.insert(id, refusal);
        error_for(id, UNREADABLE, &format!("HTTP {status}"))
    }

    /// Ends waiting for `server/discover`: an old server may be silent.
    pub(super) fn no_discovery(&self, id: u64) -> Option<ServerJsonRpcMessage> {
        let mut inner = self.inner();
        inner.asked.remove(&id)?;
        inner.given_up.insert(id);
        error_for(id, METHOD_NOT_FOUND, "no answer to server/discover")
    }

    /// A line that was too long to be kept. Where one question waits, it was its answer.
    pub(super) fn too_long(&self, head: &str, bytes: u64) -> Option<ServerJsonRpcMessage> {
        let mut inner = self.inner();
        inner.noise += bytes;
        let said = format!("a message of {bytes} bytes: {head}");
        let mut waiting = inner.asked.keys().copied();
        match (waiting.next(), waiting.next()) {
            (Some(id), None) => inner.fail(id, "line_too_long", head.to_owned(), said),
            _ => {
                inner.odd.note("line_too_long", said);
                None
            }
        }
    }

    /// A message from the server: what rmcp may read of it.
    pub(super) fn hear(&self, text: &str) -> Vec<ServerJsonRpcMessage> {
        let mut inner = self.inner();
        let doc = match Doc::parse(text) {
            Ok(doc) => doc,
            Err(error) if text.trim_start().starts_with(['{', '[']) => {
                inner.noise += text.len() as u64;
                let said = format!("{error}: {text}");
                let named = inner.asked.keys().find(|id| names_id(text, **id)).copied();
                if let Some(id) = named {
                    return Vec::from_iter(inner.fail(id, "broken_answer", text.to_owned(), said));
                }
                inner.odd.note("invalid_json", said.as_str());
                inner.suspect = Some(said);
                return Vec::new();
            }
            Err(_) => {
                inner.noise(text);
                return Vec::new();
            }
        };
        let root = doc.root();
        if root.kind() == Kind::Array && !root.is_empty() {
            // Revision 2025-03-26 allows several messages at once.
            return root
                .elements()
                .filter_map(|one| inner.hear_one(one))
                .collect();
        }
        Vec::from_iter(inner.hear_one(root))
    }
}

impl Inner {
    fn noise(&mut self, text: &str) {
        self.noise += text.len() as u64 + 1;
        self.odd.noise(text);
    }

    fn hear_one(&mut self, node: Node<'_>) -> Option<ServerJsonRpcMessage> {
        if let Some(method) = node.get_str("method") {
            return self.hear_request(node, method);
        }
        let answers = node.get("result").is_some() || node.get("error").is_some();
        if node.kind() != Kind::Object || !answers {
            self.noise(node.raw());
            return None;
        }
        let Some(id) = id_of(node) else {
            self.odd.note("answer_without_id", node.raw());
            return None;
        };
        if !self.asked.contains_key(&id) {
            let kind = if self.given_up.remove(&id) {
                "late_answer"
            } else {
                "unknown_id"
            };
            self.odd.note(kind, node.raw());
            return None;
        }
        self.hear_answer(id, node)
    }

    fn hear_answer(&mut self, id: u64, node: Node<'_>) -> Option<ServerJsonRpcMessage> {
        let is_call = self
            .asked
            .get(&id)
            .is_some_and(|a| a.method == "tools/call");
        let error = node.get_some("error");
        let handed = match (error, node.get_some("result")) {
            (Some(error), _) => error_of(id, error),
            (None, Some(result)) if is_call && is_complete(result) => {
                // rmcp need not read what it would change.
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
                )
            }
            (None, Some(result)) => {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#,
                    strict(result)
                )
            }
            (None, None) => {
                let said = "neither result nor error".to_owned();
                return self.fail(id, "no_result", node.raw().to_owned(), said);
            }
        };
        match serde_json::from_str(&handed) {
            Ok(message) => {
                let asked = self.asked.remove(&id)?;
                let raw = Raw {
                    text: node.raw().to_owned(),
                    latency: asked.at.elapsed(),
                    unreadable: None,
                };
                self.answers.insert(id, raw);
                Some(message)
            }
            Err(error) => {
                let said = format!("no answer of the protocol ({error}): {}", node.raw());
                self.fail(id, "unreadable_answer", node.raw().to_owned(), said)
            }
        }
    }

    /// Requests and notifications of the server.
    fn hear_request(&mut self, node: Node<'_>, method: &str) -> Option<ServerJsonRpcMessage> {
        if node.get_str("jsonrpc").is_none() {
            self.noise(node.raw());
            return None;
        }
        match method {
            "notifications/tools/list_changed" => {
                self.odd
                    .note("tools_changed", "the server says that its tools changed");
            }
            "notifications/progress" => self.odd.progress(),
            _ if node.get("id").is_some() && method != "ping" => {
                self.odd.note("server_request", method);
            }
            _ => {}
        }
        let message =
            serde_json::from_str(node.raw()).or_else(|_| serde_json::from_str(&strict(node)));
        message
            .inspect_err(|error| {
                let said = format!("{error}: {}", node.raw());
                self.odd.note("unreadable_message", said);
            })
            .ok()
    }

    /// Keeps an answer that nobody can read, and ends the waiting for it.
    fn fail(
        &mut self,
        id: u64,
        kind: &'static str,
        text: String,
        said: String,
    ) -> Option<ServerJsonRpcMessage> {
        let asked = self.asked.remove(&id)?;
        let raw = Raw {
            text,
            latency: asked.at.elapsed(),
            unreadable: Some((kind, said)),
        };
        self.answers.insert(id, raw);
        error_for(id, UNREADABLE, kind)
    }
}

/// The number of a request of ours: rmcp counts.
pub(super) fn number(id: &rmcp::model::RequestId) -> Option<u64> {
    match id {
        rmcp::model::RequestId::Number(id) => u64::try_from(*id).ok(),
        rmcp::model::RequestId::String(_) => None,
    }
}

/// The number that a message answers; some servers give it back as text.
fn id_of(node: Node<'_>) -> Option<u64> {
    let id = node.get("id")?;
    let number = id.as_i64().or_else(|| id.as_str()?.parse().ok());
    u64::try_from(number?).ok()
}

/// A result of a call, and not a question for more input or a task.
fn is_complete(result: Node<'_>) -> bool {
    result.kind() == Kind::Object
        && result
            .get_str("resultType")
            .is_none_or(|kind| kind == "complete")
        && result.get_some("task").is_none()
}

/// An error as rmcp reads it; codes and messages of other types are kept as text.
fn error_of(id: u64, error: Node<'_>) -> String {
    let code = error.get("code").and_then(Node::as_i64);
    let code = code
        .and_then(|code| i32::try_from(code).ok())
        .unwrap_or(UNREADABLE);
    let mut out = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"#);
    push_json_string(
        error.get_str("message").unwrap_or_else(|| error.raw()),
        &mut out,
    );
    if let Some(data) = error.get_some("data") {
        out.push_str(r#","data":"#);
        out.push_str(&strict(data));
    }
    out.push_str("}}");
    out
}

fn error_for(id: u64, code: i32, message: &str) -> Option<ServerJsonRpcMessage> {
    let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"#);
    push_json_string(message, &mut text);
    text.push_str("}}");
    serde_json::from_str(&text).ok()
}
