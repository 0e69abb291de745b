//! Starting a server and agreeing on a revision of the protocol.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::time::timeout;

use super::super::answer::Note;
use super::super::child::{Keeper, Lines};
use super::super::{EnvError, EnvResult};
use super::http::HttpClient;
use super::session::{McpSession, chain};
use super::stdio::StdioTransport;
use super::tap::Tap;
use super::{Mcp, Place, Revision};

/// A closed pipe is seen a moment before the exit.
const EXIT_GRACE: Duration = Duration::from_millis(300);

type Running = RunningService<RoleClient, ClientConfig>;

pub(super) async fn connect(mcp: &Mcp, files: Option<&str>) -> EnvResult<McpSession> {
    let first = match &mcp.revision {
        Revision::Auto => ClientLifecycleMode::Auto {
            preferred_versions: newest_without_handshake(),
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Revision::Only(version) if version.has_initialize() => ClientLifecycleMode::Initialize,
        Revision::Only(version) => ClientLifecycleMode::Discover {
            preferred_versions: vec![version.clone()],
        },
    };
    let discovers = matches!(first, ClientLifecycleMode::Auto { .. });
    match attempt(mcp, first, files).await {
        Ok(session) => Ok(session),
        // A server may end, or end the connection, when it is asked what it does not know.
        Err(Failure { why, late: false }) if discovers => {
            let again = attempt(mcp, ClientLifecycleMode::Initialize, files).await;
            let mut session = again.map_err(|second| start_error(mcp, second.why))?;
            let said = format!("it did not survive server/discover: {why}");
            session.opening.push(Note::new("restarted", said));
            Ok(session)
        }
        Err(failure) => Err(start_error(mcp, failure.why)),
    }
}

fn start_error(mcp: &Mcp, why: String) -> EnvError {
    let what = mcp.what();
    EnvError::Start { what, why }
}

fn newest_without_handshake() -> Vec<ProtocolVersion> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().rev();
    known
        .filter(|version| !version.has_initialize())
        .cloned()
        .collect()
}

struct Failure {
    why: String,
    /// The time is over: another attempt would take as long.
    late: bool,
}

async fn attempt(
    mcp: &Mcp,
    lifecycle: ClientLifecycleMode,
    files: Option<&str>,
) -> Result<McpSession, Failure> {
    let failed = |why: String| Failure { why, late: false };
    let version = match &mcp.revision {
        Revision::Only(version) => version.clone(),
        Revision::Auto => ProtocolVersion::LATEST_WITH_INITIALIZE,
    };
    let we = Implementation::new("fidelake", env!("CARGO_PKG_VERSION"));
    let info = ClientConfig::new(ClientCapabilities::default(), we).with_protocol_version(version);
    let tap = Tap::default();
    let (mut keeper, serving) = match &mcp.place {
        Place::Program(program) => {
            let started = program.start(files).map_err(|error| match error {
                EnvError::Start { why, .. } => Failure { why, late: true },
                error => Failure {
                    why: error.to_string(),
                    late: true,
                },
            })?;
            let lines = Lines::new(started.stdout, mcp.max_line);
            let transport = StdioTransport::new(started.stdin, lines, tap.clone(), mcp.probe);
            let serving = info.serve_with_lifecycle(transport, lifecycle);
            (Some(started.keeper), timeout(mcp.patience, serving).await)
        }
        Place::Url(url) => {
            let client = HttpClient::new(url, tap.clone(), mcp.probe, mcp.max_line)
                .map_err(|error| failed(chain(&error)))?;
            // A new session would have a new state: an expired one is a fault, not a reason to go on.
            let config = StreamableHttpClientTransportConfig::with_uri(url.url.as_str())
                .max_sse_event_size(mcp.max_line)
                .max_json_response_size(mcp.max_line)
                .reinit_on_expired_session(false);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let serving = info.serve_with_lifecycle(transport, lifecycle);
            (None, timeout(mcp.patience, serving).await)
        }
    };
    match serving {
        Ok(Ok(running)) => Ok(opened(mcp, running, tap, keeper)),
        Ok(Err(error)) => Err(failed(said(&error, &tap, keeper.as_mut()).await)),
        Err(_) => {
            let mut why = format!("no answer within {} s", mcp.patience.as_secs_f64());
            if let Some(keeper) = &keeper {
                let stderr = keeper.stderr();
                if !stderr.is_empty() {
                    why = format!("{why}; stderr ends: {}", Note::end_of(&stderr));
                }
            }
            Err(Failure {
                why: with_notes(why, &tap),
                late: true,
            })
        }
    }
}

fn opened(mcp: &Mcp, running: Running, tap: Tap, keeper: Option<Keeper>) -> McpSession {
    let opening = tap.take_notes();
    McpSession {
        running,
        tap,
        keeper,
        what: mcp.what(),
        patience: mcp.patience,
        grace: mcp.grace,
        states: mcp.states.clone(),
        answer_at: mcp.answer_at.clone(),
        opening,
    }
}

/// Why it did not become a session, with how it ended and what else it said.
async fn said(error: &ClientInitializeError, tap: &Tap, keeper: Option<&mut Keeper>) -> String {
    let mut why = chain(error);
    if let Some(keeper) = keeper
        && let Some(status) = keeper.exit(EXIT_GRACE).await
    {
        why = format!("{status} ({why})");
    }
    with_notes(why, tap)
}

fn with_notes(mut why: String, tap: &Tap) -> String {
    for note in tap.take_notes() {
        why.push_str("; ");
        why.push_str(note.kind);
        why.push_str(": ");
        why.push_str(&note.text);
    }
    why
}
