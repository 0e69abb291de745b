//! Recorded MCP traffic: one JSON object a line with `ts`, `dir` and `raw`, the
//! exact line that went over the wire.
//!
//! A file is one session, or several: `initialize` begins a new one. Calls are
//! paired by JSON-RPC id among the requests still open. Every line that is no
//! call or answer is kept as a message, noise included. Lines with `mark` are the
//! recorder's: they name the run that follows, and say how it ended.

pub(crate) mod mark;

use std::borrow::Cow;
use std::collections::HashMap;

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Flags, Kind, Node};
use fidelake_core::model::{Arm, CallStatus};

use super::Context;
use super::extra::Extra;
use super::native::text;
use super::reject::{Reason, Reject};
use super::run::{Answer, Call, Content, Message, Run};
use super::time::Time;
use mark::{Begin, Mark};

/// What a line of traffic may say beside `ts`, `dir` and `raw`, and what is read from it.
const READ: &[&str] = &["ts", "dir", "raw", "status", "answers", "transport_error"];

/// Whether an object is a line of recorded traffic.
pub(crate) fn is_wire(root: Node<'_>) -> bool {
    is_traffic(root) || Mark::of(root).is_some()
}

fn is_traffic(root: Node<'_>) -> bool {
    root.get("raw")
        .is_some_and(|raw| raw.kind() == Kind::String)
        && root
            .get_str("dir")
            .is_some_and(|dir| matches!(dir, "c2s" | "s2c"))
}

/// A line that could not be read.
#[derive(Debug)]
pub(crate) struct BadLine {
    pub(crate) line: usize,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) reject: Reject,
}

/// Reads a whole capture; hands on each session with the number of its calls.
pub(crate) fn read(
    capture: &str,
    context: &Context<'_>,
    sink: &mut dyn FnMut(Run<'_>, usize),
) -> Vec<BadLine> {
    let mut bad = Vec::new();
    let mut outer = Vec::new();
    let mut offset = 0;
    for (line, text) in capture.split_inclusive('\n').enumerate() {
        let body = text.trim();
        if !body.is_empty() {
            match Doc::parse(body) {
                Ok(doc) if is_wire(doc.root()) => outer.push(doc),
                other => {
                    let reject = match other {
                        Err(error) => Reject::from(error),
                        Ok(_) => Reject::new(
                            Reason::NotThisFormat,
                            "no line of recorded traffic: it needs \"dir\" (c2s or s2c) and \"raw\"",
                        ),
                    };
                    bad.push(BadLine {
                        line,
                        offset,
                        bytes: body.len(),
                        reject,
                    });
                }
            }
        }
        offset += text.len();
    }
    let lines: Vec<(Node<'_>, Option<Doc<'_>>)> = outer
        .iter()
        .map(|doc| {
            (
                doc.root(),
                Doc::parse(doc.root().get_str("raw").unwrap_or_default()).ok(),
            )
        })
        .collect();
    let mut session = Session::default();
    for (line, inner) in &lines {
        match Mark::of(*line) {
            Some(Mark::Begin(begin)) => {
                if session.lines > 0 {
                    std::mem::take(&mut session).finish(context, sink);
                }
                session.begin(begin, *line);
                continue;
            }
            Some(Mark::End(how)) => {
                session.end(how, *line);
                continue;
            }
            None => {}
        }
        let starts = inner
            .as_ref()
            .is_some_and(|doc| doc.root().get_str("method") == Some("initialize"));
        if starts && session.lines > 0 && session.begin.is_none() {
            std::mem::take(&mut session).finish(context, sink);
        }
        session.line(*line, inner.as_ref().map(Doc::root));
    }
    if session.lines > 0 {
        session.finish(context, sink);
    }
    bad
}

/// A request that waits for its answer.
#[derive(Clone, Copy)]
struct Open {
    asked: Asked,
    /// Another request with the same id was open at the same time.
    shared: bool,
}

/// What an open request asked for.
#[derive(Clone, Copy)]
enum Asked {
    Call(usize),
    Tools,
    Initialize,
    Other,
}

#[derive(Default)]
struct Session<'d> {
    lines: usize,
    begin: Option<Begin<'d>>,
    termination: Option<&'d str>,
    hash_parts: Vec<&'d str>,
    server: Option<&'d str>,
    version: Option<String>,
    tools: Option<Vec<Node<'d>>>,
    tools_complete: bool,
    /// By direction of the answer and JSON text of the id: `1` and `"1"` differ.
    open: HashMap<(&'d str, &'d str), Vec<Open>>,
    turn: i32,
    calls: Vec<Call<'d>>,
    messages: Vec<Message<'d>>,
    requests: usize,
    first: Option<Time<'d>>,
    last: Option<Time<'d>>,
    flags: Flags,
}

impl<'d> Session<'d> {
    fn begin(&mut self, begin: Begin<'d>, line: Node<'d>) {
        self.lines += 1;
        // Two recordings of the same traffic are two runs.
        self.hash_parts.push(line.raw());
        self.first = line.get("ts").and_then(Time::of);
        self.begin = Some(begin);
    }

    fn end(&mut self, how: &'d str, line: Node<'d>) {
        self.hash_parts.push(line.raw());
        self.termination = Some(how);
        if let Some(time) = line.get("ts").and_then(Time::of) {
            self.last = Some(time);
        }
    }

    fn line(&mut self, line: Node<'d>, inner: Option<Node<'d>>) {
        self.lines += 1;
        let raw = line.get_str("raw").unwrap_or_default();
        self.hash_parts.push(raw);
        let direction = line.get_str("dir").unwrap_or_default();
        let time = line.get("ts").and_then(Time::of);
        if self.first.is_none() {
            self.first.clone_from(&time);
        }
        self.last.clone_from(&time);
        let mut places = Vec::new();
        let mut answered = None;
        if let Some(inner) = inner {
            self.flags |= inner.flags();
            // A batch is an array of messages; its calls share a turn.
            let mut opened = false;
            let batch = inner.kind() == Kind::Array;
            for node in inner.elements().chain((!batch).then_some(inner)) {
                match self.message(direction, node, time.as_ref(), &mut opened) {
                    Some(Seen::Call(place)) => places.push(place),
                    Some(Seen::Answer(place)) => answered = Some(place),
                    None => {}
                }
            }
        }
        if answered.is_none() {
            answered = self.told(direction, line, time.as_ref());
        }
        if line.get("invalid_utf8").and_then(Node::as_bool) == Some(true) {
            self.flags |= Flags::INVALID_UTF8;
        }
        let is_call = !places.is_empty();
        self.messages.push(Message {
            role: Cow::Borrowed(if direction == "c2s" {
                "client"
            } else {
                "server"
            }),
            // A call's line stands in `calls`, its answer's in `observations`.
            content: match (is_call || answered.is_some(), line.get("raw")) {
                (true, _) => Content::Observation,
                (false, raw) => Content::of(raw),
            },
            name: if inner.is_none() {
                Some(Cow::Borrowed("noise"))
            } else {
                None
            },
            calls: places,
            result_of: answered,
            sent_at: time,
            extra: Extra::of(line, READ),
        });
    }

    /// The call that this line answers as HTTP tells, where no message does: a
    /// status with a text, or the reason why nothing came.
    fn told(
        &mut self,
        direction: &'d str,
        line: Node<'d>,
        time: Option<&Time<'d>>,
    ) -> Option<(i32, i32)> {
        let transport = line.get("transport_error").and_then(Node::as_bool) == Some(true);
        let mut place = None;
        for id in line.get_some("answers")?.elements() {
            let Some(open) = self.take(direction, id.raw()) else {
                continue;
            };
            if let Asked::Call(at) = open.asked {
                let answer = Answer {
                    content: line.get("raw"),
                    is_error: Some(true),
                    status: line.get_some("status").and_then(Node::as_i64),
                    error_type: transport.then_some(Cow::Borrowed("transport")),
                    ..Answer::default()
                };
                place = place.or(Some(self.answered(at, open.shared, answer, time)));
            }
        }
        place
    }

    fn answered(
        &mut self,
        at: usize,
        shared: bool,
        mut answer: Answer<'d>,
        time: Option<&Time<'d>>,
    ) -> (i32, i32) {
        let call = &mut self.calls[at];
        let asked_at = call.started_at.as_ref().and_then(|t| t.micros);
        if let (Some(from), Some(to)) = (asked_at, time.and_then(|t| t.micros))
            && to >= from
        {
            answer.latency_ms = Some((to - from) as f64 / 1000.0);
            answer.latency_source = Some("wire");
        }
        call.status = if shared {
            // First asked, first answered: a guess.
            CallStatus::AmbiguousResult
        } else {
            CallStatus::Answered
        };
        call.pairing = Some("id");
        call.result = Some(answer);
        (call.turn, call.index)
    }

    fn message(
        &mut self,
        direction: &'d str,
        node: Node<'d>,
        time: Option<&Time<'d>>,
        opened: &mut bool,
    ) -> Option<Seen> {
        let id = node.get_some("id").map(Node::raw);
        let answers = if direction == "c2s" { "s2c" } else { "c2s" };
        let Some(method) = node.get_str("method") else {
            let asked = id.and_then(|id| self.take(direction, id));
            return self.answer(asked, node, time).map(Seen::Answer);
        };
        let params = node.get_some("params");
        let asked = match method {
            "tools/call" if direction == "c2s" => {
                let at = self.calls.len();
                if !std::mem::replace(opened, true) {
                    self.turn += 1;
                }
                let turn = self.turn - 1;
                let index = self
                    .calls
                    .iter()
                    .rev()
                    .take_while(|c| c.turn == turn)
                    .count();
                let name = params.and_then(|p| text(p, "name"));
                let arguments = params.and_then(|p| p.get("arguments"));
                self.requests += 1;
                self.calls.push(Call {
                    id: id.map(Cow::Borrowed),
                    requestor: Some(Cow::Borrowed("client")),
                    arguments: arguments.map(super::chat::arguments_text),
                    started_at: time.cloned(),
                    extra: params.and_then(|p| Extra::of(p, &["name", "arguments"])),
                    ..Call::unanswered(turn, i32::try_from(index).unwrap_or(i32::MAX), name)
                });
                Asked::Call(at)
            }
            "tools/list" => {
                if params.and_then(|p| p.get_some("cursor")).is_none() {
                    self.tools_complete = true;
                }
                Asked::Tools
            }
            "initialize" | "server/discover" => Asked::Initialize,
            _ => Asked::Other,
        };
        if let Some(id) = id {
            let waiting = self.open.entry((answers, id)).or_default();
            let shared = !waiting.is_empty();
            for other in waiting.iter_mut() {
                other.shared = true;
            }
            waiting.push(Open { asked, shared });
        }
        match asked {
            Asked::Call(at) => Some(Seen::Call((self.calls[at].turn, self.calls[at].index))),
            _ => None,
        }
    }

    /// The request that an answer with this id belongs to: the oldest one open.
    fn take(&mut self, direction: &'d str, id: &'d str) -> Option<Open> {
        let waiting = self.open.get_mut(&(direction, id))?;
        (!waiting.is_empty()).then(|| waiting.remove(0))
    }

    fn answer(
        &mut self,
        asked: Option<Open>,
        node: Node<'d>,
        time: Option<&Time<'d>>,
    ) -> Option<(i32, i32)> {
        let result = node.get_some("result");
        let shared = asked.is_some_and(|open| open.shared);
        match asked.map(|open| open.asked) {
            Some(Asked::Call(at)) => Some(self.answered(at, shared, answer(node), time)),
            Some(Asked::Tools) => {
                let page = result?.get_some("tools")?.elements();
                if std::mem::replace(&mut self.tools_complete, false) {
                    self.tools = None;
                }
                self.tools.get_or_insert_default().extend(page);
                None
            }
            Some(Asked::Initialize) => {
                let info = result?.get_some("serverInfo")?;
                self.server = info.get_str("name").filter(|name| !name.is_empty());
                let version = info.get_str("version").unwrap_or_default();
                self.version = Some(
                    format!("{} {version}", self.server.unwrap_or_default())
                        .trim()
                        .to_owned(),
                );
                None
            }
            Some(Asked::Other) => None,
            None => {
                // An answer that nobody waits for: kept if it is a tool's.
                result?.get("content").filter(|c| c.kind() == Kind::Array)?;
                let turn = self.turn - 1;
                let index = self
                    .calls
                    .iter()
                    .rev()
                    .take_while(|c| c.turn == turn)
                    .count();
                let index = i32::try_from(index).unwrap_or(i32::MAX);
                self.calls.push(Call {
                    id: node.get_some("id").map(|id| Cow::Borrowed(id.raw())),
                    status: CallStatus::OrphanResult,
                    result: Some(answer(node)),
                    ..Call::unanswered(turn, index, None)
                });
                Some((turn, index))
            }
        }
    }

    fn finish(self, context: &Context<'d>, sink: &mut dyn FnMut(Run<'_>, usize)) {
        let content_hash = Key::of_parts(&self.hash_parts);
        let named = self.begin.as_ref();
        let environment = match (context.environment, named, self.server) {
            (None, Some(begin), _) => Cow::Borrowed(begin.environment),
            (None, None, Some(server)) => Cow::Borrowed(server),
            _ => context.environment_or("mcp"),
        };
        let hash = content_hash.to_string();
        let trajectory_id = match named {
            Some(begin) => Cow::Borrowed(begin.trajectory_id),
            None => Cow::Owned(format!("{environment}/{}", &hash[..16])),
        };
        let arm = context.arm.or(named.map(|begin| begin.arm));
        let run = Run {
            trajectory_id,
            environment,
            arm: arm.unwrap_or(Arm::Real),
            repeat: 0,
            content_hash,
            environment_version: self.version.map(Cow::Owned),
            origin: Some(Cow::Borrowed("recorded")),
            policy: None,
            task_id: None,
            group_id: None,
            task: None,
            gold: None,
            catalog: self.tools,
            started_at: self.first,
            ended_at: self.last,
            termination: self.termination.map(Cow::Borrowed),
            labels: None,
            extra: None,
            messages: self.messages,
            calls: self.calls,
            verdicts: Vec::new(),
            flags: self.flags,
        };
        sink(run, self.requests);
    }
}

enum Seen {
    Call((i32, i32)),
    Answer((i32, i32)),
}

fn answer(node: Node<'_>) -> Answer<'_> {
    if let Some(error) = node.get_some("error") {
        return Answer {
            content: Some(error),
            is_error: Some(true),
            rpc_code: error.get_some("code").and_then(Node::as_i64),
            ..Answer::default()
        };
    }
    let Some(result) = node.get_some("result") else {
        return Answer::default();
    };
    Answer {
        content: result.get("content"),
        structured: result.get("structuredContent"),
        is_error: result.get("isError").and_then(Node::as_bool),
        extra: Extra::of(result, &["content", "structuredContent", "isError"]),
        ..Answer::default()
    }
}
