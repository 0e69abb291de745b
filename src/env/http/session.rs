//! An API that is being called.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::TryStreamExt;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::super::answer::{Answer, Fault, Note};
use super::super::child::text;
use super::super::headers::retry_after;
use super::super::mcp::{as_json, chain};
use super::super::{Closing, EnvError, EnvResult, Request, Session, Snapshot, Start, Tool};
use super::Http;
use super::operation::Operation;
use super::request::{Prepared, prepare};

/// Redirects in a row.
const MAX_REDIRECTS: usize = 5;

/// A client for reads, which follows redirects, and one for the rest, which does not.
#[derive(Debug)]
pub(super) struct HttpSession {
    http: Http,
    reading: Client,
    writing: Client,
}

impl HttpSession {
    pub(super) fn new(http: Http) -> reqwest::Result<Self> {
        let client = |policy: Policy| {
            let builder = Client::builder().tcp_nodelay(true).redirect(policy);
            builder.default_headers(http.headers.clone()).build()
        };
        Ok(Self {
            reading: client(Policy::custom(follow))?,
            // A write that is made again elsewhere is another call.
            writing: client(Policy::none())?,
            http,
        })
    }

    async fn call_once(&self, name: &str, arguments: &str, patience: Duration) -> Answer {
        let known = self
            .http
            .document
            .operations
            .iter()
            .find(|one| one.name == name);
        let Some(operation) = known else {
            return Answer {
                content: Some(as_json(&format!("no operation called {name}"))),
                is_error: Some(true),
                error_type: Some("unknown_tool".to_owned()),
                ..Answer::default()
            };
        };
        let prepared = match prepare(operation, &self.http.base, arguments) {
            Ok(prepared) => prepared,
            Err(why) => return Answer::fault(Fault::Unsendable, 0.0, "arguments", why),
        };
        let began = Instant::now();
        match timeout(patience, self.send(operation, prepared, began)).await {
            Ok(answer) => answer,
            Err(_) => {
                let said = format!("no answer within {} s", patience.as_secs_f64());
                Answer::fault(Fault::Late, ms(began), "no_answer", said)
            }
        }
    }

    async fn send(&self, operation: &Operation, prepared: Prepared, began: Instant) -> Answer {
        let client = if operation.mutates() {
            &self.writing
        } else {
            &self.reading
        };
        let mut request = client
            .request(operation.method.clone(), prepared.url)
            .headers(prepared.headers);
        if let Some(body) = prepared.body {
            request = request.body(body);
        }
        let mut answer = match request.send().await {
            Ok(response) => self.read(response, began).await,
            Err(error) => {
                // Without a connection nothing has left.
                let fault = if error.is_connect() || error.is_builder() {
                    Fault::NotSent
                } else {
                    Fault::Lost
                };
                // The address may hold a secret of the plan: it is left out.
                Answer::fault(fault, ms(began), "connection", chain(&error.without_url()))
            }
        };
        answer.notes.extend(prepared.notes);
        answer
    }

    async fn read(&self, response: Response, began: Instant) -> Answer {
        let status = Some(i64::from(response.status().as_u16()));
        let retry_after = retry_after(response.headers());
        let body = self.body(response).await;
        let latency_ms = ms(began);
        let mut answer = match body {
            Ok(body) if body.is_empty() => Answer {
                latency_ms,
                ..Answer::default()
            },
            Ok(body) => Answer {
                content: Some(as_json(&text(body))),
                latency_ms,
                ..Answer::default()
            },
            Err((fault, note)) => Answer::fault(fault, latency_ms, note.kind, note.text),
        };
        answer.status = status;
        answer.retry_after = retry_after;
        answer
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, (Fault, Note)> {
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        loop {
            match stream.try_next().await {
                Ok(Some(block)) if body.len() + block.len() > self.http.max_body => {
                    let limit = self.http.max_body;
                    let note = Note::new("body_too_long", format!("more than {limit} bytes"));
                    return Err((Fault::Malformed, note));
                }
                Ok(Some(block)) => body.extend_from_slice(&block),
                Ok(None) => return Ok(body),
                Err(error) => {
                    let said = chain(&error.without_url());
                    return Err((Fault::Lost, Note::new("connection", said)));
                }
            }
        }
    }

    /// Calls a tool that stands for something the protocol lacks.
    async fn helper(&self, key: &str, tool: &str, arguments: &str) -> EnvResult<Answer> {
        let answer = self.call_once(tool, arguments, self.http.patience).await;
        let failed = answer.fault.is_some()
            || answer.is_error == Some(true)
            || answer
                .status
                .is_some_and(|status| !(200..300).contains(&status));
        if !failed {
            return Ok(answer);
        }
        let status = answer
            .status
            .map_or(String::new(), |status| format!("HTTP {status} "));
        let noted = answer.notes.first().map(|note| note.text.clone());
        let said = answer.content.or(noted).unwrap_or_default();
        Err(EnvError::Failed {
            what: self.http.base.to_string(),
            why: format!("{key} {tool}: {status}{said}"),
        })
    }
}

fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Redirects are followed within the host that the plan names, and no further:
/// headers with secrets go along.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let origin = attempt.previous().first().map(url::Url::origin);
    let stays = origin.is_some_and(|origin| origin == attempt.url().origin());
    if stays && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[async_trait]
impl Session for HttpSession {
    fn version(&self) -> Option<String> {
        Some(self.http.document.version.clone())
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let tools = self.http.document.operations.iter().map(|operation| Tool {
            name: operation.name.clone(),
            declaration: operation.declaration.clone(),
            mutates: Some(operation.mutates()),
        });
        Ok(tools.collect())
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        self.call_once(request.name, request.arguments, request.timeout)
            .await
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        let Some((tool, arguments)) = &self.http.shown_by else {
            return Ok(None);
        };
        let answer = self.helper("state_tool", tool, arguments).await?;
        let state = answer.content;
        Ok(Some(Snapshot { state, hash: None }))
    }

    async fn reset(&mut self, start: &Start) -> EnvResult<()> {
        match (&self.http.reset_by, start) {
            (Some((tool, arguments)), Start::Fresh) => {
                self.helper("reset_tool", tool, arguments).await?;
                Ok(())
            }
            _ => Err(EnvError::NoReset(self.http.base.to_string())),
        }
    }

    async fn close(self: Box<Self>) -> Closing {
        Closing::default()
    }
}
