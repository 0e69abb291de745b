//! The query engine: a DataFusion session over one pinned state of a lake, with
//! our own functions and views, read-only.

mod error;
pub mod functions;
mod profile;
mod rows;
mod session;
mod settings;

pub use error::{EngineError, EngineResult};
pub use profile::{ProfileReport, profile};
pub use rows::Rows;
pub use session::{Engine, bare_context};
