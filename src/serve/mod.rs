//! The lake for those who never open a terminal on it: pages for a browser, SQL over the
//! network.

mod opened;
mod pages;
mod pg;

pub use pages::{PageError, PageResult, Pages, report};
pub use pg::{Access, Limits, PgError, PgServer, Tls};
