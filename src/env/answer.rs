//! What came back from a call, with the evidence of what went wrong.

use std::time::Duration;

/// Where an answer came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Made just now.
    #[default]
    Live,
    /// Recorded for the same call.
    ReplayExact,
    /// Recorded for a similar call.
    ReplayNear,
    /// Made of recorded answers.
    Generated,
}

impl Origin {
    /// The word that stands in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::ReplayExact => "replay_exact",
            Self::ReplayNear => "replay_near",
            Self::Generated => "generated",
        }
    }
}

/// Why there is no answer of the tool itself. What the tool answered, an error
/// included, is no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It surely never left: may be tried again.
    NotSent,
    /// It left and nothing came back before the connection ended: in doubt.
    Lost,
    /// Nothing came back in time: in doubt.
    Late,
    /// Something came back that cannot be read.
    Malformed,
    /// A replay has no answer for it.
    Missed,
    /// Its arguments cannot be written in the protocol, now or later: never left.
    Unsendable,
}

impl Fault {
    /// The word that stands in tables, and as `error_type` where nothing better is known.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotSent | Self::Lost => "transport",
            Self::Late => "timeout",
            Self::Malformed => "malformed_response",
            Self::Missed => "replay_missed",
            Self::Unsendable => "invalid_arguments",
        }
    }

    /// Whether the call may have taken effect without our knowing.
    #[must_use]
    pub const fn in_doubt(self) -> bool {
        matches!(self, Self::Lost | Self::Late)
    }
}

/// One thing noticed: a stable word, and what it was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// For example `noise_lines`, `late_answer`, `unknown_id`, `exit_status`.
    pub kind: &'static str,
    /// A short text: never more than a few hundred bytes of what was seen.
    pub text: String,
}

/// How many bytes of what was seen a note may quote.
const QUOTED: usize = 400;

impl Note {
    /// A note; a long text is cut.
    #[must_use]
    pub fn new(kind: &'static str, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.len() > QUOTED {
            text.truncate(text.floor_char_boundary(QUOTED));
            text.push('…');
        }
        Self { kind, text }
    }

    /// The end of a long text, as much as a note may quote.
    #[must_use]
    pub fn end_of(text: &str) -> &str {
        let from = text.len().saturating_sub(QUOTED);
        &text[text.ceil_char_boundary(from)..]
    }
}

/// What came back from a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The content as given, JSON text, spelled as it came; `None` if nothing did.
    pub content: Option<String>,
    /// A structured answer beside the content, JSON text.
    pub structured: Option<String>,
    /// What the server put around the answer, JSON text, where it was taken out.
    pub envelope: Option<String>,
    /// Error flag as given.
    pub is_error: Option<bool>,
    /// Status code as given.
    pub status: Option<i64>,
    /// JSON-RPC error code as given.
    pub rpc_code: Option<i64>,
    /// Error type as given, or the fault's.
    pub error_type: Option<String>,
    /// From the call to its answer, or to giving up.
    pub latency_ms: f64,
    /// Whether the answer was cut, as far as it says so.
    pub truncated: Option<bool>,
    /// The state after the call, where it came with the answer: JSON text.
    pub state: Option<String>,
    /// Hash of that state.
    pub state_hash: Option<String>,
    /// Where it came from.
    pub origin: Origin,
    /// Distance of the arguments of the call whose recorded answer this is, [0,1].
    pub distance: Option<f64>,
    /// Why there is no answer of the tool.
    pub fault: Option<Fault>,
    /// How long the environment asks us to wait.
    pub retry_after: Option<Duration>,
    /// Evidence for what is odd about it.
    pub notes: Vec<Note>,
}

impl Answer {
    /// No answer, for this reason.
    #[must_use]
    pub fn fault(
        fault: Fault,
        latency_ms: f64,
        kind: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self {
            error_type: Some(fault.as_str().to_owned()),
            latency_ms,
            fault: Some(fault),
            notes: vec![Note::new(kind, text)],
            ..Self::default()
        }
    }
}
