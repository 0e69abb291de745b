//! Public formats, read into runs: one file per format.

mod chat;
mod detect;
mod extra;
pub(crate) mod mcp_wire;
mod native;
mod object;
mod openai;
mod packed;
pub(crate) mod reject;
pub(crate) mod run;
mod tau;
pub(crate) mod tau2;
pub(crate) mod time;

use std::borrow::Cow;

use fidelake_core::json::{Doc, Node};
use fidelake_core::model::Arm;

pub(crate) use detect::{Detected, detect};
pub(crate) use native::CALL_KEYS;
pub(crate) use object::Object;
pub(crate) use packed::unpacked;
use reject::Reject;
use run::Run;

/// The formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The native run form: JSON Lines, one run per line.
    Native,
    /// tau-bench (v1) results: an array of runs.
    Tau,
    /// tau2-bench results: one object with `simulations`.
    Tau2,
    /// Conversations in the OpenAI chat form, one per line or in an array.
    OpenAi,
    /// Recorded MCP traffic, one wire line per line.
    McpWire,
}

/// How the records of a source are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One record per line.
    Lines,
    /// Elements of the top array.
    Elements,
    /// Elements of an array under a key of the top object.
    Under(&'static str),
    /// The whole top value is one record.
    Single,
    /// The whole source is one unit.
    Whole,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Native,
        Self::Tau,
        Self::Tau2,
        Self::OpenAi,
        Self::McpWire,
    ];

    /// The name used on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tau => "tau",
            Self::Tau2 => "tau2",
            Self::OpenAi => "openai",
            Self::McpWire => "mcp-wire",
        }
    }

    /// By name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Grows when a reader gives other rows for the same bytes.
    pub(crate) const fn parser_version(self) -> i32 {
        match self {
            Self::Tau => 2,
            _ => 1,
        }
    }

    fn is(self, root: Node<'_>) -> bool {
        match self {
            Self::Native => native::is_native(root),
            Self::Tau => tau::is_tau(root),
            Self::Tau2 => tau2::is_tau2(root),
            Self::OpenAi => openai::is_openai(root),
            Self::McpWire => mcp_wire::is_wire(root),
        }
    }
}

/// What is known beside a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'d> {
    /// Forced by the user.
    pub(crate) environment: Option<&'d str>,
    /// Guessed from the name of the source, for formats that do not say.
    pub(crate) guessed: Option<&'d str>,
    pub(crate) arm: Option<Arm>,
    pub(crate) tau2: Option<&'d tau2::Header>,
    /// Tools that stand outside the record.
    pub(crate) catalog: Option<Node<'d>>,
}

impl<'d> Context<'d> {
    fn environment_or(&self, default: &'static str) -> Cow<'d, str> {
        Cow::Borrowed(self.environment.or(self.guessed).unwrap_or(default))
    }
}

/// Reads one record of a format that has one run per record.
pub(crate) fn read_record(
    format: Format,
    doc: &Doc<'_>,
    context: &Context<'_>,
    sink: &mut dyn FnMut(Run<'_>),
) -> Result<(), Reject> {
    // `tools` and `tool_defs` may be JSON inside a string.
    let tools = match format {
        Format::OpenAi => openai::tools_text(doc.root()),
        Format::Tau2 => context.tau2.and_then(tau2::Header::tool_defs),
        _ => None,
    };
    let tools = tools.and_then(|text| Doc::parse(text).ok());
    let context = Context {
        catalog: tools.as_ref().map(Doc::root).or(context.catalog),
        ..*context
    };
    let run = match format {
        Format::Native => native::read(doc, &context),
        Format::Tau => tau::read(doc, &context),
        Format::Tau2 => tau2::read(doc, &context),
        Format::OpenAi | Format::McpWire => openai::read(doc, &context),
    }?;
    sink(run);
    Ok(())
}
