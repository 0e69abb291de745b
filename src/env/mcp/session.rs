//! An open MCP server.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use fidelake_core::json::{Doc, Kind};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientConfig, ClientRequest, ListToolsRequest, PaginatedRequestParams, RequestId,
};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use tokio::time::timeout;

use super::super::answer::{Answer, Fault, Note};
use super::super::child::Keeper;
use super::super::text::one_line;
use super::super::{Closing, EnvError, EnvResult, Request, Session, Snapshot, Start, Tool};
use super::tap::{Tap, number};
use super::{States, answer, envelope};

/// A closed pipe is seen a moment before the exit.
const EXIT_GRACE: Duration = Duration::from_millis(300);
/// How long saying that a call is cancelled may take.
const CANCEL_GRACE: Duration = Duration::from_millis(200);
/// A list with more pages than this does not end.
const MAX_PAGES: usize = 10_000;

/// A server that has said who it is.
#[derive(Debug)]
pub(super) struct McpSession {
    pub(super) running: RunningService<RoleClient, ClientConfig>,
    pub(super) tap: Tap,
    /// The program; a server behind a URL has none here.
    pub(super) keeper: Option<Keeper>,
    pub(super) what: String,
    pub(super) patience: Duration,
    pub(super) grace: Duration,
    pub(super) states: States,
    /// Where the tool's own answer stands in an envelope.
    pub(super) answer_at: Option<Vec<String>>,
    pub(super) opening: Vec<Note>,
}

impl McpSession {
    fn failed(&self, why: impl Into<String>) -> EnvError {
        EnvError::Failed {
            what: self.what.clone(),
            why: why.into(),
        }
    }

    /// Asks rmcp to ask; what came back is in the tap.
    async fn ask(&self, request: ClientRequest, patience: Duration) -> Asked {
        let began = Instant::now();
        let options = PeerRequestOptions::no_options();
        let sending = self
            .running
            .peer()
            .send_request_with_option(request, options);
        let handle = match timeout(patience, sending).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return Asked::Failed(None, error),
            Err(_) => return Asked::Late(None),
        };
        let request_id = handle.id.clone();
        let id = number(&request_id);
        let left = patience.saturating_sub(began.elapsed());
        match timeout(left, handle.await_response()).await {
            Ok(Ok(_)) => Asked::Answered(id),
            Ok(Err(error)) => Asked::Failed(id, error),
            Err(_) => {
                if let Some(id) = id
                    && self.tap.has_left(id)
                {
                    self.tap.give_up(id);
                    self.cancel(request_id).await;
                }
                Asked::Late(id)
            }
        }
    }

    async fn cancel(&self, id: RequestId) {
        let reason = Some("no answer in time".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let notification = CancelledNotification::new(params);
        let sending = self.running.peer().send_notification(notification.into());
        // Who does not answer may not read either.
        let _ = timeout(CANCEL_GRACE, sending).await;
    }

    /// What is known of a server that does not answer any more.
    async fn ended(&mut self, error: &ServiceError) -> (&'static str, String) {
        if self.tap.is_flooded() {
            return (
                "flood",
                "too much that is no answer: the server was left".to_owned(),
            );
        }
        if let Some(keeper) = &mut self.keeper
            && let Some(status) = keeper.exit(EXIT_GRACE).await
        {
            return ("exit_status", status);
        }
        ("connection", chain(error))
    }

    async fn call_once(&mut self, name: &str, arguments: &str, patience: Duration) -> Answer {
        let mut params = CallToolRequestParams::new(name.to_owned());
        let placed = self.keeper.as_ref().map(|keeper| keeper.placed(arguments));
        match spelled(placed.as_deref().unwrap_or(arguments)) {
            Ok(Some((text, object))) => {
                params = params.with_arguments(object);
                self.tap.prepare(Some(text));
            }
            Ok(None) => self.tap.prepare(None),
            Err(why) => return Answer::fault(Fault::Unsendable, 0.0, "arguments", why),
        }
        let began = Instant::now();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let asked = self.ask(request, patience).await;
        let latency_ms = began.elapsed().as_secs_f64() * 1e3;
        let id = asked.id();
        if let Some(raw) = id.and_then(|id| self.tap.take_answer(id)) {
            let mut answer = answer::answer(&raw);
            if let Some(keeper) = &self.keeper {
                keeper.name_folder(&mut answer);
            }
            return answer;
        }
        if let Some(refusal) = id.and_then(|id| self.tap.take_refusal(id)) {
            return answer::refused(&refusal);
        }
        let left = id.is_some_and(|id| self.tap.has_left(id));
        match asked {
            Asked::Late(_) => {
                if let Some(said) = self.tap.take_suspect() {
                    return Answer::fault(Fault::Malformed, latency_ms, "invalid_json", said);
                }
                let said = format!("no answer within {} s", patience.as_secs_f64());
                let fault = if left { Fault::Late } else { Fault::NotSent };
                Answer::fault(fault, latency_ms, "no_answer", said)
            }
            Asked::Failed(_, error) => {
                let (kind, said) = self.ended(&error).await;
                let fault = if left { Fault::Lost } else { Fault::NotSent };
                Answer::fault(fault, latency_ms, kind, said)
            }
            Asked::Answered(_) => {
                let said = "rmcp read an answer that was not heard";
                Answer::fault(Fault::Malformed, latency_ms, "unheard_answer", said)
            }
        }
    }

    async fn page(
        &mut self,
        cursor: Option<String>,
        into: &mut Vec<Tool>,
    ) -> EnvResult<Option<String>> {
        self.tap.prepare(None);
        let request = ListToolsRequest {
            params: cursor
                .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))),
            ..ListToolsRequest::default()
        };
        let asked = self
            .ask(ClientRequest::ListToolsRequest(request), self.patience)
            .await;
        let raw = asked.id().and_then(|id| self.tap.take_answer(id));
        if let Some(raw) = raw {
            return answer::tools(&raw, into).map_err(|why| self.failed(why));
        }
        if let Some(refusal) = asked.id().and_then(|id| self.tap.take_refusal(id)) {
            let said = Note::new("", refusal.body).text;
            return Err(self.failed(format!("tools/list: HTTP {}: {said}", refusal.status)));
        }
        Err(match asked {
            Asked::Failed(_, error) => {
                let (_, said) = self.ended(&error).await;
                self.failed(format!("tools/list: {said}"))
            }
            _ => {
                let patience = self.patience.as_secs_f64();
                self.failed(format!("tools/list: no answer within {patience} s"))
            }
        })
    }
}

/// How asking ended, with the number of the question once it had one.
enum Asked {
    Answered(Option<u64>),
    Failed(Option<u64>, ServiceError),
    Late(Option<u64>),
}

impl Asked {
    fn id(&self) -> Option<u64> {
        match self {
            Self::Answered(id) | Self::Failed(id, _) | Self::Late(id) => *id,
        }
    }
}

#[async_trait]
impl Session for McpSession {
    fn version(&self) -> Option<String> {
        let info = self.running.peer().peer_info()?;
        let revision = &info.protocol_version;
        Some(match &info.server_info {
            Some(server) => format!("{} {} (MCP {revision})", server.name, server.version),
            None => format!("MCP {revision}"),
        })
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let next = self.page(cursor.clone(), &mut tools).await?;
            if next.is_none() {
                if let Some(keeper) = &self.keeper {
                    keeper.name_folder_in(&mut tools);
                }
                return Ok(tools);
            }
            if next == cursor {
                break;
            }
            cursor = next;
        }
        Err(self.failed(format!(
            "tools/list does not end: {} tools so far",
            tools.len()
        )))
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        let called = self.call_once(request.name, request.arguments, request.timeout);
        let mut answer = called.await;
        if let Some(at) = &self.answer_at {
            envelope::open(&mut answer, at);
        }
        answer.notes.append(&mut self.opening);
        answer.notes.append(&mut self.tap.take_notes());
        answer
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        let Some((tool, arguments)) = self.states.shown_by.clone() else {
            let Some(keeper) = &self.keeper else {
                return Ok(None);
            };
            let shown = keeper.state(self.patience).await;
            return shown.map_err(|why| self.failed(why));
        };
        let answer = self.call_once(&tool, &arguments, self.patience).await;
        if answer.fault.is_some() || answer.is_error == Some(true) {
            let said = answer.content.unwrap_or_else(|| {
                answer
                    .notes
                    .first()
                    .map(|note| note.text.clone())
                    .unwrap_or_default()
            });
            return Err(self.failed(format!("state_tool {tool}: {said}")));
        }
        let state = answer.structured.or(answer.content);
        Ok(Some(Snapshot { state, hash: None }))
    }

    async fn reset(&mut self, start: &Start) -> EnvResult<()> {
        let (Some((tool, arguments)), Start::Fresh) = (self.states.reset_by.clone(), start) else {
            return Err(EnvError::NoReset(self.what.clone()));
        };
        let answer = self.call_once(&tool, &arguments, self.patience).await;
        if answer.fault.is_some() || answer.is_error == Some(true) {
            let said = answer.content.unwrap_or_default();
            return Err(self.failed(format!("reset_tool {tool}: {said}")));
        }
        Ok(())
    }

    async fn close(mut self: Box<Self>) -> Closing {
        let Self {
            mut running,
            tap,
            keeper,
            grace,
            opening,
            ..
        } = *self;
        let mut notes = opening;
        let _ = running.close_with_timeout(grace).await;
        drop(running);
        notes.append(&mut tap.take_notes());
        if let Some(keeper) = keeper {
            notes.append(&mut keeper.end(grace).await);
        }
        Closing { notes }
    }
}

/// Arguments as they are spelled, on one line, and as rmcp needs them for
/// headers; `None` if there are none.
#[expect(
    clippy::type_complexity,
    reason = "a pair of the same thing in two forms"
)]
fn spelled(
    arguments: &str,
) -> Result<Option<(String, serde_json::Map<String, serde_json::Value>)>, String> {
    let doc = match Doc::parse(arguments) {
        Ok(doc) => doc,
        Err(_) if arguments.trim().is_empty() => return Ok(None),
        Err(error) => return Err(format!("no JSON ({error}): {arguments}")),
    };
    if doc.root().kind() == Kind::Null {
        return Ok(None);
    }
    let strict = super::super::text::strict(doc.root());
    let object = serde_json::from_str(&strict).unwrap_or_default();
    Ok(Some((one_line(arguments), object)))
}

/// An error with all its causes: transports wrap what happened. The name of
/// the Rust type that rmcp puts before it says nothing to anybody.
pub(in crate::env) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    if let Some((before, after)) = text.split_once("Transport [")
        && let Some((_, after)) = after.split_once("] error: ")
    {
        text = format!("{before}{after}");
    }
    text
}
