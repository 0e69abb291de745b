//! Streamable HTTP: a POST per message, answered as JSON at once.
//!
//! `/mcp` has sessions, and each an episode of its own, up to revision 2025-11-25.
//! `/mcp/NAME` is an episode by its address, for clients that keep no session.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;

use super::error::ServeError;
use super::host::origin_may_ask;
use super::rpc::{INVALID, Message, error, is_revision};
use super::sessions::{NoSlot, Sessions, Slot};
use super::simulator::Simulator;
use super::stdio::with_state;
use crate::web::{accept, asked_to_end, finish, names_this_machine};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const ENDPOINT: &str = "/mcp";

/// What bounds the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Episodes at once.
    pub episodes: usize,
    /// Bytes of a request.
    pub body: usize,
    /// Web pages that may ask, beside those of this machine: `https://lab.example`.
    pub origins: Vec<String>,
    /// Whether addresses that other machines reach are listened on.
    pub public: bool,
}

/// A server that listens.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    simulator: Arc<Simulator>,
    sessions: Sessions,
    limits: Limits,
    /// Only this machine reaches it.
    private: bool,
}

type Answered = Response<Full<Bytes>>;

impl HttpServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the address is taken, or other machines would reach it unasked.
    pub async fn bind(
        address: SocketAddr,
        simulator: Arc<Simulator>,
        limits: Limits,
    ) -> Result<Self, ServeError> {
        let private = address.ip().is_loopback();
        if !private && !limits.public {
            return Err(ServeError::Public(address.to_string()));
        }
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| ServeError::Listen {
            address: address.to_string(),
            source,
        })?;
        Ok(Self {
            listener,
            shared: Arc::new(Shared {
                simulator,
                sessions: Sessions::new(limits.episodes),
                limits,
                private,
            }),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<String, ServeError> {
        let address = self.listener.local_addr();
        let address = address.map_err(|source| ServeError::Io {
            what: "the listener".into(),
            source,
        })?;
        Ok(format!("http://{address}{ENDPOINT}"))
    }

    /// Serves until the process is asked to end.
    pub async fn serve(self) {
        let http = hyper::server::conn::http1::Builder::new();
        let shared = self.shared;
        let handle = move |request| {
            let shared = Arc::clone(&shared);
            async move { shared.handle(request).await }
        };
        let graceful = accept(self.listener, http, usize::MAX, asked_to_end(), handle).await;
        finish(graceful, std::future::pending()).await;
    }
}

/// Where a request goes.
struct Target {
    name: Option<String>,
    seed: Option<u64>,
    session: Option<String>,
}

impl Shared {
    async fn handle(&self, request: Request<Incoming>) -> Answered {
        let headers = request.headers();
        if self.private && !names_this_machine(headers) {
            return refuse(
                StatusCode::FORBIDDEN,
                "this simulator listens on this machine only, and is asked under another name",
            );
        }
        if !origin_may_ask(headers, &self.limits.origins) {
            return refuse(
                StatusCode::FORBIDDEN,
                "web pages of other machines may not ask; --allow-origin names those that may",
            );
        }
        let target = match target(&request) {
            Ok(target) => target,
            Err((status, why)) => return refuse(status, why),
        };
        match request.method().clone() {
            Method::POST => self.post(request, target).await,
            Method::DELETE => self.end(&target),
            _ => {
                let why = "send messages with POST; there are no streams here";
                let mut answer = refuse(StatusCode::METHOD_NOT_ALLOWED, why);
                let allowed = HeaderValue::from_static("POST, DELETE");
                answer.headers_mut().insert(header::ALLOW, allowed);
                answer
            }
        }
    }

    fn end(&self, target: &Target) -> Answered {
        let ended = match (&target.session, &target.name) {
            (Some(id), _) => self.sessions.end_session(id),
            (None, Some(name)) => self.sessions.end_named(name),
            (None, None) => {
                let why = "name the session (Mcp-Session-Id) or the episode (/mcp/NAME) to end";
                return refuse(StatusCode::BAD_REQUEST, why);
            }
        };
        match ended {
            true => empty(StatusCode::NO_CONTENT),
            false => refuse(StatusCode::NOT_FOUND, "there is no such session or episode"),
        }
    }

    async fn post(&self, request: Request<Incoming>, target: Target) -> Answered {
        if !is_json(request.headers()) {
            let why = "send a message as application/json";
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
        }
        let revision = header_text(request.headers(), "mcp-protocol-version");
        if revision.is_some_and(|revision| !is_revision(&revision)) {
            let why = "Mcp-Protocol-Version names no revision of MCP that is spoken here";
            return refuse(StatusCode::BAD_REQUEST, why);
        }
        let named = header_text(request.headers(), "mcp-method");
        let body = Limited::new(request.into_body(), self.limits.body);
        let body = match body.collect().await {
            Ok(whole) => whole.to_bytes(),
            Err(e) if e.is::<http_body_util::LengthLimitError>() => {
                let why = format!("a message may have {} bytes", self.limits.body);
                return refuse(StatusCode::PAYLOAD_TOO_LARGE, &why);
            }
            Err(_) => return refuse(StatusCode::BAD_REQUEST, "the request broke off"),
        };
        let text = String::from_utf8_lossy(&body);
        let message = match Message::parse(&text) {
            Ok(message) => message,
            Err(refusal) => return json(StatusCode::BAD_REQUEST, refusal.json(), None),
        };
        if named.is_some() && named != message.method {
            let why = "the header Mcp-Method and the message name two methods";
            return json(StatusCode::BAD_REQUEST, message.error(INVALID, why), None);
        }
        if !message.is_request() {
            return empty(StatusCode::ACCEPTED);
        }
        self.answer(&message, target).await
    }

    async fn answer(&self, message: &Message, target: Target) -> Answered {
        let simulator = &self.simulator;
        let plain = message.plain(simulator.name(), simulator.version());
        if message.is("initialize") && message.refused_revision().is_none() {
            // A session that asks again goes on as it is.
            if target.session.is_none() {
                let begun = self.sessions.begin(target.name.as_deref(), target.seed);
                return match begun {
                    Ok((id, _)) => json(StatusCode::OK, plain.unwrap_or_default(), Some(&id)),
                    Err(why) => no_slot(message, why),
                };
            }
        }
        if let Some(reply) = plain {
            return json(StatusCode::OK, reply, None);
        }
        let slot = match (&target.session, &target.name) {
            (Some(id), name) => self.sessions.of_session(id, name.as_deref()),
            (None, Some(name)) => self.sessions.named(name, target.seed),
            (None, None) if message.call.is_none() && message.is_stateless() => {
                // What is on offer is the same in every episode, but for its chance.
                return match simulator.episode("list", None).await {
                    Ok(episode) => json(StatusCode::OK, message.listed(&episode.tools), None),
                    Err(error) => broken(message, &error.to_string()),
                };
            }
            (None, None) => {
                let why = "a call belongs to an episode: send initialize first and keep its Mcp-Session-Id, or name the episode in the address, /mcp/NAME";
                return json(StatusCode::BAD_REQUEST, message.error(INVALID, why), None);
            }
        };
        match slot {
            Ok(slot) => self.in_slot(message, &slot).await,
            Err(why) => no_slot(message, why),
        }
    }

    async fn in_slot(&self, message: &Message, slot: &Slot) -> Answered {
        let mut held = slot.episode.lock().await;
        let episode = match &mut *held {
            Some(episode) => episode,
            none => match self.simulator.episode(&slot.name, slot.seed).await {
                Ok(episode) => none.insert(episode),
                Err(error) => return broken(message, &error.to_string()),
            },
        };
        let reply = with_state(&self.simulator, episode, message).await;
        json(StatusCode::OK, reply, None)
    }
}

fn target(request: &Request<Incoming>) -> Result<Target, (StatusCode, &'static str)> {
    let rest = request.uri().path().strip_prefix(ENDPOINT);
    let name = match rest {
        Some("" | "/") => None,
        Some(rest) if rest.starts_with('/') => Some(&rest[1..]),
        _ => {
            let why = "the simulator is at /mcp, an episode at /mcp/NAME";
            return Err((StatusCode::NOT_FOUND, why));
        }
    };
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    if name.is_some_and(|name| name.len() > 128 || !name.bytes().all(letter)) {
        let why = "name an episode with letters, digits and . _ ~ -, at most 128";
        return Err((StatusCode::BAD_REQUEST, why));
    }
    let query = request.uri().query().unwrap_or_default();
    let seed = query.split('&').find_map(|pair| pair.strip_prefix("seed="));
    let seed = seed.map(str::parse).transpose();
    Ok(Target {
        name: name.map(str::to_owned),
        seed: seed.map_err(|_| (StatusCode::BAD_REQUEST, "seed: write a whole number"))?,
        session: header_text(request.headers(), SESSION.as_str()),
    })
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn no_slot(message: &Message, why: NoSlot) -> Answered {
    let (status, why) = match why {
        NoSlot::Unknown => (
            StatusCode::NOT_FOUND,
            "there is no such session, or no longer: send initialize for a new one",
        ),
        NoSlot::Held => (
            StatusCode::CONFLICT,
            "another client holds this episode: choose another name, or end it with DELETE",
        ),
        NoSlot::Full => (
            StatusCode::SERVICE_UNAVAILABLE,
            "there are too many episodes at once: end some with DELETE, or start the simulator with more --episodes",
        ),
    };
    json(status, message.error(INVALID, why), None)
}

fn broken(message: &Message, why: &str) -> Answered {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    json(status, message.error(-32603, why), None)
}

/// What is refused before a message was read.
fn refuse(status: StatusCode, why: &str) -> Answered {
    json(status, error(None, INVALID, why, None), None)
}

fn json(status: StatusCode, body: String, session: Option<&str>) -> Answered {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(id) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert(SESSION, id);
    }
    answer
}

fn empty(status: StatusCode) -> Answered {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
