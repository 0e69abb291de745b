//! The monitor over HTTP: a trainer asks, workers send, Prometheus scrapes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioTimer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::desk::{Chosen, Desk, Paused, Receipt};
use super::error::{MonitorError, MonitorResult};
use super::pool::Pool;
use super::token::Token;
use crate::web::{accept, finish, is_from_here, names_this_machine};

/// Largest body.
const BODY: usize = 8 << 20;

/// A request must be there within this.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connections at once.
const CONNECTIONS: usize = 256;

/// What several doors share: the desk, and its state as it was after the last change.
#[derive(Debug)]
pub struct Shared {
    desk: Mutex<Desk>,
    state: RwLock<Bytes>,
    pool: RwLock<Option<Arc<Pool>>>,
    pauses: mpsc::UnboundedSender<Paused>,
}

impl Shared {
    /// Alarms go into `pauses`.
    #[must_use]
    pub fn new(desk: Desk, pauses: mpsc::UnboundedSender<Paused>) -> Self {
        let state = Bytes::from(desk.state().to_string());
        Self {
            desk: Mutex::new(desk),
            state: RwLock::new(state),
            pool: RwLock::new(None),
            pauses,
        }
    }

    /// The desk, for as long as it is held.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls of a lake that may be sampled.
    pub fn set_pool(&self, pool: Pool) {
        let mut held = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        *held = Some(Arc::new(pool));
    }

    /// Whether actions are still to be made, or are under way.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn is_busy(&self) -> MonitorResult<bool> {
        let counts = self.desk().store.action_counts()?;
        let open = |status: &str| matches!(status, "pending" | "running");
        Ok(counts.iter().any(|(status, _)| open(status)))
    }

    fn pool(&self) -> Option<Arc<Pool>> {
        let held = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }

    /// Takes lines in, and passes alarms on.
    ///
    /// # Errors
    /// If the state cannot be written; then nothing was taken.
    pub fn take(&self, body: &[u8]) -> MonitorResult<(Receipt, Value)> {
        let mut desk = self.desk();
        let receipt = desk.take(body)?;
        let answer = desk.answer(&receipt);
        self.show(&desk);
        drop(desk);
        for paused in &receipt.paused {
            // Nobody listens where nothing is to be done.
            let _ = self.pauses.send(paused.clone());
        }
        Ok((receipt, answer))
    }

    fn change(
        &self,
        chosen: &Chosen,
        change: impl FnOnce(&mut Desk, &Chosen) -> MonitorResult<usize>,
    ) -> MonitorResult<Value> {
        let mut desk = self.desk();
        let changed = change(&mut desk, chosen)?;
        self.show(&desk);
        Ok(json!({ "changed": changed, "state": desk.word() }))
    }

    /// A trainer that asks never waits for a batch that is being taken in.
    fn show(&self, desk: &Desk) {
        let text = Bytes::from(desk.state().to_string());
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn state(&self) -> Bytes {
        let held = self.state.read().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }
}

/// The server.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    token: Token,
    shared: Arc<Shared>,
}

impl Server {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the address is taken, or is not of this machine.
    pub fn bind(address: SocketAddr, token: Token, shared: Arc<Shared>) -> MonitorResult<Self> {
        let what = format!("cannot listen at {address}");
        let listener = std::net::TcpListener::bind(address).map_err(MonitorError::io(&*what))?;
        listener
            .set_nonblocking(true)
            .map_err(MonitorError::io(&*what))?;
        let address = listener.local_addr().map_err(MonitorError::io(what))?;
        Ok(Self {
            listener,
            address,
            token,
            shared,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends.
    ///
    /// # Errors
    /// If the system does not let it listen.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> MonitorResult<()> {
        let listener =
            TcpListener::from_std(self.listener).map_err(MonitorError::io("cannot listen"))?;
        let door = Arc::new(Door {
            loopback: self.address.ip().is_loopback(),
            token: self.token,
            shared: self.shared,
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        let handle = move |request| {
            let door = Arc::clone(&door);
            async move { door.handle(request).await }
        };
        let graceful = accept(listener, http, CONNECTIONS, stop, handle).await;
        finish(graceful, std::future::pending()).await;
        Ok(())
    }
}

struct Door {
    loopback: bool,
    token: Token,
    shared: Arc<Shared>,
}

type Answer = Response<Full<Bytes>>;

/// What a request asks for.
enum Asked {
    State,
    Streams,
    Metrics,
    Next,
    Observations,
    Acknowledge,
    Recalibrate,
}

impl Asked {
    fn of(path: &str) -> Option<(Self, Method)> {
        Some(match path {
            "/v1/state" => (Self::State, Method::GET),
            "/v1/streams" => (Self::Streams, Method::GET),
            "/metrics" => (Self::Metrics, Method::GET),
            "/v1/next" => (Self::Next, Method::GET),
            "/v1/observations" => (Self::Observations, Method::POST),
            "/v1/acknowledge" => (Self::Acknowledge, Method::POST),
            "/v1/recalibrate" => (Self::Recalibrate, Method::POST),
            _ => return None,
        })
    }
}

impl Door {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let headers = request.headers();
        if self.loopback && !names_this_machine(headers) {
            // A web page may have had its name resolved to this machine.
            return refusal(
                StatusCode::FORBIDDEN,
                "this monitor listens on this machine only, and is asked under another name",
            );
        }
        if !is_from_here(headers) {
            return refusal(
                StatusCode::FORBIDDEN,
                "asked by a page of another origin: monitors are not for web pages",
            );
        }
        let Some((asked, method)) = Asked::of(request.uri().path()) else {
            return refusal(
                StatusCode::NOT_FOUND,
                "there are GET /v1/state /v1/streams /v1/next /metrics, POST /v1/observations /v1/acknowledge /v1/recalibrate",
            );
        };
        if *request.method() != method {
            let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, &format!("use {method}"));
            if let Ok(allowed) = HeaderValue::from_str(method.as_str()) {
                answer.headers_mut().insert(header::ALLOW, allowed);
            }
            return answer;
        }
        let bearer = header_text(headers, &header::AUTHORIZATION);
        if (method == Method::POST || !self.loopback) && !self.token.is_in(bearer) {
            let mut answer = refusal(
                StatusCode::UNAUTHORIZED,
                "give the token of --token-file: Authorization: Bearer TOKEN",
            );
            let scheme = HeaderValue::from_static("Bearer");
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
            return answer;
        }
        let query = request.uri().query().unwrap_or_default().to_owned();
        let body =
            tokio::time::timeout(PATIENCE, Limited::new(request.into_body(), BODY).collect());
        let body = match body.await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return refusal(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "more than 8 MiB: send fewer lines at once",
                );
            }
            Ok(Err(_)) => return refusal(StatusCode::BAD_REQUEST, "the request broke off"),
            Err(_) => {
                return refusal(
                    StatusCode::REQUEST_TIMEOUT,
                    "the request was not there within 30 s",
                );
            }
        };
        if matches!(asked, Asked::State) {
            return answer(StatusCode::OK, "application/json", self.shared.state());
        }
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || respond(&shared, &asked, &query, &body));
        match done.await {
            Ok(answer) => answer,
            Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "this request failed"),
        }
    }
}

fn respond(shared: &Shared, asked: &Asked, query: &str, body: &Bytes) -> Answer {
    let done: Result<Answer, Failed> = (|| {
        let value = match asked {
            Asked::State => return Ok(answer(StatusCode::OK, "application/json", shared.state())),
            Asked::Streams => shared.desk().streams(),
            Asked::Metrics => {
                let text = shared.desk().metrics()?;
                let kind = "text/plain; version=0.0.4; charset=utf-8";
                return Ok(answer(StatusCode::OK, kind, Bytes::from(text)));
            }
            Asked::Next => {
                let n = samples(query).map_err(Failed::Wrong)?;
                shared.desk().next(n, shared.pool().as_deref())
            }
            Asked::Observations => {
                let (receipt, value) = shared.take(body)?;
                let counts = &receipt.counts;
                let all_refused =
                    counts.rejected > 0 && counts.accepted + counts.duplicates + counts.late == 0;
                let status = if all_refused {
                    StatusCode::BAD_REQUEST
                } else {
                    StatusCode::OK
                };
                return Ok(json_answer(status, &value));
            }
            Asked::Acknowledge => {
                shared.change(&chosen(body).map_err(Failed::Wrong)?, Desk::acknowledge)?
            }
            Asked::Recalibrate => {
                shared.change(&chosen(body).map_err(Failed::Wrong)?, Desk::recalibrate)?
            }
        };
        Ok(json_answer(StatusCode::OK, &value))
    })();
    match done {
        Ok(answer) => answer,
        Err(Failed::Wrong(why)) => refusal(StatusCode::BAD_REQUEST, &why),
        Err(Failed::Monitor(error)) => refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("{error}; nothing was taken"),
        ),
    }
}

enum Failed {
    Wrong(String),
    Monitor(MonitorError),
}

impl From<MonitorError> for Failed {
    fn from(error: MonitorError) -> Self {
        Self::Monitor(error)
    }
}

/// Most samples that one question may ask for.
const MOST_NEXT: usize = 10_000;

fn samples(query: &str) -> Result<usize, String> {
    let mut n = 1;
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "n" => {
                let found = value.parse().ok().filter(|n| (1..=MOST_NEXT).contains(n));
                n = found.ok_or_else(|| format!("n={value}: a number from 1 to {MOST_NEXT}"))?;
            }
            other => return Err(format!("{other}: /v1/next has n only")),
        }
    }
    Ok(n)
}

/// `{"environment": ..., "api": ..., "outcome": ..., "dimension": ...}`, or `{"all": true}`.
fn chosen(body: &[u8]) -> Result<Chosen, String> {
    const HOW: &str =
        "name streams by environment, api, outcome, dimension, or write {\"all\": true}";
    let value: Value =
        serde_json::from_slice(body).map_err(|error| format!("not JSON ({error}): {HOW}"))?;
    let map = value.as_object().ok_or(HOW)?;
    let mut found = Chosen::default();
    let mut all = false;
    for (name, value) in map {
        if name == "all" {
            all = value.as_bool().ok_or(HOW)?;
            continue;
        }
        let text = value
            .as_str()
            .ok_or_else(|| format!("{name} is no text: {HOW}"))?;
        let field = match name.as_str() {
            "environment" => &mut found.environment,
            "api" => &mut found.api,
            "outcome" => &mut found.outcome,
            "dimension" => &mut found.dimension,
            _ => return Err(format!("{name}: {HOW}")),
        };
        *field = Some(text.to_owned());
    }
    if all == (found != Chosen::default()) {
        return Err(HOW.to_owned());
    }
    Ok(found)
}

fn answer(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

fn json_answer(status: StatusCode, value: &Value) -> Answer {
    answer(status, "application/json", Bytes::from(value.to_string()))
}

fn refusal(status: StatusCode, why: &str) -> Answer {
    json_answer(status, &json!({ "error": why }))
}

fn header_text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_or_all_are_meant() {
        let one = chosen(br#"{"environment": "e", "dimension": "obs"}"#).unwrap();
        assert_eq!((one.environment.as_deref(), one.api), (Some("e"), None));
        assert_eq!(chosen(br#"{"all": true}"#).unwrap(), Chosen::default());
        for wrong in [
            "",
            "{}",
            "[]",
            r#"{"all": false}"#,
            r#"{"all": true, "api": "a"}"#,
            r#"{"apis": "a"}"#,
            r#"{"api": 1}"#,
        ] {
            assert!(
                chosen(wrong.as_bytes())
                    .unwrap_err()
                    .contains("name streams by"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn numbers_of_samples() {
        assert_eq!(samples(""), Ok(1));
        assert_eq!(samples("n=20"), Ok(20));
        for wrong in ["n=0", "n=-1", "n=x", "n=99999999", "m=1"] {
            assert!(samples(wrong).is_err(), "{wrong}");
        }
    }
}
