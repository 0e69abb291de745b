//! Between a client and a server of streamable HTTP: a proxy for one server, whose
//! MCP endpoint is read along. Headers are passed on and never stored.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use url::Url;

use super::error::RecordError;
use super::exchange::Exchange;
use super::headers::{TRAJECTORY, passed_on, without_hop_by_hop};
use super::journal::Journal;
use super::session::Session;
use super::signals::Signals;
use super::sse::Events;
use super::tee::{Copy, Tee, Whole};
use crate::web::{accept, finish, is_loopback, names_this_machine};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// A request up to this size is read whole before it is sent: so it is in the
/// journal even if the server cannot be reached.
const SMALL: u64 = 1 << 20;

type Boxed = BoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The server to pass everything on to.
#[derive(Clone, Debug)]
pub struct Upstream {
    endpoint: Url,
    client: reqwest::Client,
}

impl Upstream {
    /// A server by the address of its MCP endpoint.
    ///
    /// # Errors
    /// If that is no http or https address.
    pub fn new(address: &str) -> Result<Self, RecordError> {
        let fail = |why: String| RecordError::Upstream {
            url: address.to_owned(),
            why,
        };
        let endpoint = Url::parse(address).map_err(|e| fail(e.to_string()))?;
        if !matches!(endpoint.scheme(), "http" | "https") || endpoint.host().is_none() {
            return Err(fail(
                "give the http or https address of an MCP endpoint, such as https://example.org/mcp".into(),
            ));
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        if endpoint.host().is_some_and(|host| is_loopback(&host)) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| fail(e.to_string()))?;
        Ok(Self { endpoint, client })
    }

    /// Where a request for a path goes, and whether that is the MCP endpoint.
    fn target(&self, path: &str, query: Option<&str>) -> (Url, bool) {
        let mut target = self.endpoint.clone();
        let is_endpoint = path == "/" || path == self.endpoint.path();
        if !is_endpoint {
            target.set_path(path);
            target.set_query(None);
        }
        if query.is_some() {
            target.set_query(query);
        }
        (target, is_endpoint)
    }
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Proxy {
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    upstream: Upstream,
    journal: Arc<Journal>,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<String, Arc<Session>>,
    /// For servers without sessions.
    without: Option<Arc<Session>>,
}

impl Proxy {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the address is taken, or is not of this machine.
    pub fn bind(
        address: SocketAddr,
        upstream: Upstream,
        journal: Arc<Journal>,
    ) -> Result<Self, RecordError> {
        let fail = |source| RecordError::Listen {
            address: address.to_string(),
            source,
        };
        let listener = std::net::TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self {
            listener,
            shared: Arc::new(Shared {
                address,
                upstream,
                journal,
                sessions: Mutex::default(),
            }),
        })
    }

    /// The address to give to clients in the place of the server's.
    #[must_use]
    pub fn address(&self) -> String {
        let path = self.shared.upstream.endpoint.path();
        format!("http://{}{path}", self.shared.address)
    }

    /// Serves until a signal asks it to end.
    ///
    /// # Errors
    /// If the system gives no signals.
    pub async fn serve(self) -> Result<(), RecordError> {
        let (done, ended) = oneshot::channel();
        // One thread: a call passes through several tasks, and waking another
        // thread for each of them costs more than all that they do.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let served = runtime.and_then(|runtime| runtime.block_on(self.run()));
            let _ = done.send(served);
        });
        // The thread always answers, unless it could not be started.
        let served = ended.await.map_err(std::io::Error::other).flatten();
        served.map_err(|source| RecordError::Io {
            what: "the proxy".into(),
            source,
        })
    }

    async fn run(self) -> std::io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let mut signals = Signals::for_server()?;
        let stop = async {
            signals.next().await;
        };
        let http = hyper::server::conn::http1::Builder::new();
        let shared = self.shared;
        let handle = move |request| {
            let shared = Arc::clone(&shared);
            async move { shared.handle(request).await }
        };
        let graceful = accept(listener, http, usize::MAX, stop, handle).await;
        finish(graceful, async {
            signals.next().await;
        })
        .await;
        Ok(())
    }
}

impl Shared {
    async fn handle(&self, request: Request<Incoming>) -> Response<Boxed> {
        if self.address.ip().is_loopback() && !names_this_machine(request.headers()) {
            // A web page may have had its name resolved to this machine.
            return refusal(
                StatusCode::FORBIDDEN,
                "this recorder listens on this machine only, and is asked under another name",
            );
        }
        let (parts, body) = request.into_parts();
        let (target, is_endpoint) = self.upstream.target(parts.uri.path(), parts.uri.query());
        let text = |name: &HeaderName| {
            let value = parts.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let given = text(&SESSION);
        let known = given.as_ref().map(|id| self.session(id));
        let exchange = Arc::new(Exchange::new(text(&TRAJECTORY), known.clone()));
        let recorded = is_endpoint && parts.method == Method::POST;
        let small = body.size_hint().upper().is_some_and(|size| size <= SMALL);
        let mut upstream = self
            .upstream
            .client
            .request(parts.method.clone(), target)
            .headers(passed_on(&parts.headers));
        if recorded && small {
            let Ok(whole) = body.collect().await else {
                return refusal(StatusCode::BAD_REQUEST, "the request broke off");
            };
            let bytes = whole.to_bytes();
            exchange.asked(Whole::of(&bytes));
            upstream = upstream.body(bytes);
        } else if !body.is_end_stream() {
            let copy = if recorded {
                Copy::Request(Whole::default())
            } else {
                Copy::Nothing
            };
            let tee = Tee::new(body, copy, Arc::clone(&exchange));
            upstream = upstream.body(reqwest::Body::wrap(tee));
        }
        let answer = match upstream.send().await {
            Ok(answer) => answer,
            Err(error) => {
                let why = chain(&error.without_url());
                exchange.failed(known.unwrap_or_else(|| self.without(false)), &why);
                let text = format!(
                    "the recorder cannot reach {}: {why}",
                    self.upstream.endpoint
                );
                return refusal(StatusCode::BAD_GATEWAY, &text);
            }
        };
        let (head, body) = Response::<reqwest::Body>::from(answer).into_parts();
        let mut copy = Copy::Nothing;
        if is_endpoint {
            let opened = head.headers.get(&SESSION);
            let session = match (opened.and_then(|id| id.to_str().ok()), known) {
                (Some(id), _) => self.session(id),
                (None, Some(session)) => session,
                (None, None) => self.without(exchange.initializes()),
            };
            let ends = parts.method == Method::DELETE && head.status.is_success();
            if let (true, Some(id)) = (ends, &given) {
                self.sessions().by_id.remove(id);
                session.finish("client ended the session");
            } else {
                exchange.belongs_to(session, head.status.as_u16());
                copy = reading(&head.headers, head.status);
            }
        }
        let mut response =
            Response::new(Tee::new(body, copy, exchange).map_err(Into::into).boxed());
        *response.status_mut() = head.status;
        *response.headers_mut() = without_hop_by_hop(&head.headers);
        response
    }

    /// The session with this id of the server's.
    fn session(&self, id: &str) -> Arc<Session> {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.by_id.get(id) {
            return Arc::clone(session);
        }
        let session = self.journal.session("http");
        sessions.by_id.insert(id.to_owned(), Arc::clone(&session));
        session
    }

    /// The session of a server that has none: `initialize` begins a new one.
    fn without(&self, initialize: bool) -> Arc<Session> {
        let mut sessions = self.sessions();
        if initialize && let Some(before) = sessions.without.take() {
            before.finish("client began anew");
        }
        let session = sessions
            .without
            .get_or_insert_with(|| self.journal.session("http"));
        Arc::clone(session)
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the copy of an answer is read.
fn reading(headers: &HeaderMap, status: StatusCode) -> Copy {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if kind.starts_with("text/event-stream") {
        Copy::Events(Events::default())
    } else if kind.starts_with("application/json") || status.as_u16() >= 400 {
        Copy::Answer(Whole::default())
    } else {
        Copy::Nothing
    }
}

fn refusal(status: StatusCode, why: &str) -> Response<Boxed> {
    let body = Full::new(Bytes::from(format!("{why}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_same_server() {
        let upstream = Upstream::new("https://example.org:8443/mcp?key=1").unwrap();
        let target = |path, query| {
            let (url, endpoint) = upstream.target(path, query);
            (url.to_string(), endpoint)
        };
        let to = "https://example.org:8443";
        assert_eq!(target("/", None), (format!("{to}/mcp?key=1"), true));
        assert_eq!(target("/mcp", Some("a=b")), (format!("{to}/mcp?a=b"), true));
        let other = "/.well-known/oauth-protected-resource";
        assert_eq!(target(other, None), (format!("{to}{other}"), false));
        for wrong in ["example.org/mcp", "ftp://example.org/", ""] {
            assert!(matches!(
                Upstream::new(wrong),
                Err(RecordError::Upstream { .. })
            ));
        }
    }
}
