//! MCP over streamable HTTP: an own client under rmcp, so that every body
//! passes the tap before it is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::time::timeout;

use super::super::headers::retry_after;
use super::Url;
use super::session::chain;
use super::tap::Tap;

const ACCEPTED: &str = "application/json, text/event-stream";
const SESSION: &str = "mcp-session-id";
/// How much of a body that is no answer is kept.
const REFUSAL: usize = 64 << 10;

/// Why there is no response: with all causes, and without the address, which
/// may hold a secret of the plan.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct HttpError(String);

type Failed = StreamableHttpError<HttpError>;

fn failed(error: reqwest::Error) -> Failed {
    StreamableHttpError::Client(HttpError(chain(&error.without_url())))
}

/// Shared by all requests of one session.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    tap: Tap,
    probe: Duration,
    limit: usize,
}

impl HttpClient {
    pub(super) fn new(
        url: &Url,
        tap: Tap,
        probe: Duration,
        limit: usize,
    ) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            // Small messages must not wait for each other.
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(url.headers.clone())
            .build()?;
        Ok(Self {
            client,
            tap,
            probe,
            limit,
        })
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let (text, id) = self.tap.outgoing(message)?;
        let had_session = session.is_some();
        let request = self
            .client
            .post(uri)
            .header(CONTENT_TYPE, "application/json")
            .body(text);
        let request = with(request, session, headers);
        let response = request.send().await.inspect_err(|error| {
            if error.is_connect() {
                id.inspect(|id| self.tap.not_sent(*id));
            }
        });
        let response = response.map_err(failed)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let given = response
            .headers()
            .get(SESSION)
            .and_then(|value| value.to_str().ok());
        let given = given.map(str::to_owned);
        if status.is_success() && is_stream(&response) {
            let events = self.events(response);
            return Ok(StreamableHttpPostResponse::Sse(events, given));
        }
        let wait = retry_after(response.headers());
        let body = self.body(response, status).await?;
        let Some(id) = id else {
            // Nobody waits for the answer to a notification.
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if status == StatusCode::NOT_FOUND && had_session {
            self.tap.refuse(id, status.as_u16(), wait, body);
            return Err(StreamableHttpError::SessionExpired);
        }
        if let Some(answer) = self.heard(&body, id, message) {
            return Ok(StreamableHttpPostResponse::Json(answer, given));
        }
        match self.tap.refuse(id, status.as_u16(), wait, body) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, given)),
            None => Err(StreamableHttpError::UnexpectedServerResponse(Cow::from(
                format!("HTTP {status}"),
            ))),
        }
    }

    /// The answer in a body. What was refused before it was understood comes
    /// back without the number of the question.
    fn heard(
        &self,
        body: &str,
        id: u64,
        message: &ClientJsonRpcMessage,
    ) -> Option<ServerJsonRpcMessage> {
        let is_discovery = matches!(message, ClientJsonRpcMessage::Request(request)
            if request.request.method() == "server/discover");
        let mine = self.tap.hear(body).into_iter().find(|heard| match heard {
            ServerJsonRpcMessage::Response(response) => {
                super::tap::number(&response.id) == Some(id)
            }
            ServerJsonRpcMessage::Error(error) => {
                error.id.as_ref().and_then(super::tap::number) == Some(id)
            }
            _ => false,
        });
        // Servers that know no discovery refuse it in many ways.
        mine.or_else(|| is_discovery.then(|| self.tap.no_discovery(id)).flatten())
    }

    /// A whole body within the limit, as text.
    async fn body(&self, response: Response, status: StatusCode) -> Result<String, Failed> {
        let limit = if status.is_success() {
            self.limit
        } else {
            REFUSAL
        };
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(block) = stream.try_next().await.map_err(failed)? {
            let room = limit - body.len();
            if block.len() > room && status.is_success() {
                return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
            }
            body.extend_from_slice(&block[..block.len().min(room)]);
            if body.len() == limit && !status.is_success() {
                break;
            }
        }
        Ok(super::super::child::text(body))
    }

    /// Events whose messages have passed the tap.
    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let mut bound = Bound::new(self.limit);
        let noisy = self.tap.clone();
        let bytes = response.bytes_stream().map(move |block| {
            let block = block.map_err(std::io::Error::other)?;
            if noisy.is_flooded() {
                return Err(std::io::Error::other("too much that is no answer"));
            }
            bound.pass(&block)?;
            Ok(block)
        });
        let tap = self.tap.clone();
        SseStream::from_bytes_stream(bytes)
            .flat_map(move |event| {
                let passed = event.map(|event| passed(&tap, event));
                futures::stream::iter(match passed {
                    Ok(events) => events.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                })
            })
            .boxed()
    }
}

/// Counts the bytes of the event at hand: one that does not end costs no more
/// than the limit.
#[derive(Debug)]
struct Bound {
    limit: usize,
    event: usize,
    /// Bytes of the line at hand, without carriage returns.
    line: usize,
}

impl Bound {
    fn new(limit: usize) -> Self {
        let (event, line) = (0, 0);
        Self { limit, event, line }
    }

    fn pass(&mut self, block: &[u8]) -> std::io::Result<()> {
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            self.line += text.strip_suffix(b"\r").unwrap_or(text).len();
            self.event += part.len();
            if self.event > self.limit {
                let said = format!("an event of more than {} bytes", self.limit);
                return Err(std::io::Error::other(said));
            }
            if text.len() < part.len() {
                // An event ends with an empty line.
                if self.line == 0 {
                    self.event = 0;
                }
                self.line = 0;
            }
        }
        Ok(())
    }
}

/// One event for every message that rmcp may read, and one that only counts if there is none.
fn passed(tap: &Tap, event: Sse) -> Vec<Sse> {
    let Some(data) = event.data.as_deref().filter(|data| !data.is_empty()) else {
        return vec![event];
    };
    let heard = tap.hear(data);
    let texts = heard
        .iter()
        .filter_map(|message| serde_json::to_string(message).ok());
    let mut events: Vec<Sse> = texts
        .map(|text| Sse {
            data: Some(text),
            ..event.clone()
        })
        .collect();
    if events.is_empty() {
        events.push(Sse {
            data: None,
            ..event
        });
    }
    events
}

fn with(
    request: RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    let mut request = request.header(ACCEPT, ACCEPTED);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, session.as_ref()),
        None => request,
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("text/event-stream")
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let discovery = match &message {
            ClientJsonRpcMessage::Request(request)
                if request.request.method() == "server/discover" =>
            {
                super::tap::number(&request.id)
            }
            _ => None,
        };
        let posting = self.post(&uri, &message, session_id, custom_headers);
        let Some(id) = discovery else {
            return posting.await;
        };
        let silent = || StreamableHttpError::UnexpectedServerResponse(Cow::from("silence"));
        match timeout(self.probe, posting).await {
            Ok(response) => response,
            Err(_) => {
                let answer = self.tap.no_discovery(id).ok_or_else(silent)?;
                Ok(StreamableHttpPostResponse::Json(answer, None))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request = self.client.delete(uri.as_ref());
        let request = with(request, Some(session_id), custom_headers);
        // A server that keeps no sessions says so; that is no fault.
        request.send().await.map_err(failed)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut request = with(self.client.get(uri.as_ref()), session_id, custom_headers);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.map_err(failed)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED || !is_stream(&response) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            let said = format!("HTTP {}", response.status());
            return Err(StreamableHttpError::UnexpectedServerResponse(said.into()));
        }
        Ok(self.events(response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_that_do_not_end_are_bounded() {
        let mut bound = Bound::new(20);
        for _ in 0..100 {
            for part in ["data: abc", "\r", "\n\r\n", "data: x\n\n"] {
                bound.pass(part.as_bytes()).unwrap();
            }
        }
        bound.pass(b"data: 0123456789").unwrap();
        assert!(bound.pass(b"0123456789").is_err());
    }
}
