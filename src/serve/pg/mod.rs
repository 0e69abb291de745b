//! SQL over the network, in PostgreSQL's protocol (docs/sql-server.md).
//!
//! The library reads and writes the protocol and shows the catalogue that clients ask for.
//! Who may come in, what may be asked, and what a question may cost is decided here: what the
//! library ships lets anybody in, writes files, and cannot stop a query that has begun.

mod access;
mod cancel;
mod copy;
mod error;
mod grown;
mod handler;
mod listen;
mod plan;
mod procedure;
mod reader;
mod run;
mod session;
mod setting;
mod shelf;
mod sized;
mod talk;
mod tls;

pub use access::Access;
pub use error::PgError;
pub use listen::{Limits, PgServer};
pub use tls::Tls;
