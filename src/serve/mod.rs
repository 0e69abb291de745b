//! The lake for those who never open a terminal on it: SQL over the network.

mod pg;
mod shelf;

pub use pg::{Access, Limits, PgError, PgServer, Tls};
