//! Standing between an agent and its MCP server: every byte goes through
//! untouched, a copy becomes trajectories in the lake.
//!
//! A message is written to the journal before its last byte is passed on, so
//! whoever has seen an answer finds it in the journal, whichever process dies.
//! The journal is a file per run, in the form of recorded MCP traffic that
//! `fidelake import` reads; folding is an import of those files. It is no table
//! of the catalog: a database has one writer at a time, and an agent that waits
//! for somebody's import would no longer be measured but disturbed.

mod clock;
mod error;
mod exchange;
mod fold;
mod headers;
mod http;
mod journal;
mod lines;
mod look;
mod place;
mod run_file;
mod session;
mod signals;
mod sse;
mod stdio;
mod tee;

pub use error::RecordError;
pub use fold::{Folded, fold};
pub use http::{Proxy, Upstream};
pub use journal::{Journal, Say, Settings, Totals};
pub use stdio::stdio;
