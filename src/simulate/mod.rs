//! The simulator as a server: MCP over the pipes of a process, or streamable HTTP,
//! with answers from the lake (docs/simulate.md).
//!
//! The protocol is read and written here and not by a library: recorded answers go
//! out byte for byte, and a library's value types would round big integers, reorder
//! keys and refuse `NaN`. What is served is small: no streams, no requests of the
//! server's own.

mod episode;
mod error;
mod host;
mod http;
mod reply;
mod rpc;
mod sessions;
mod simulator;
mod stdio;
mod tools;
mod unanswered;

pub use error::ServeError;
pub use http::{HttpServer, Limits};
pub use simulator::{Settings, Simulator, Totals};
pub use stdio::stdio;
