//! The query engine: a DataFusion session over one pinned state of a lake, with
//! our own functions and views, read-only.

mod asking;
pub(crate) mod columns;
mod compute;
mod error;
pub mod functions;
mod held;
mod learn;
mod naming;
mod narrow;
mod pending;
pub mod predict;
mod profile;
mod range;
mod rows;
mod rules;
mod session;
mod settings;
mod spread;
mod terms;
mod touch;

pub(crate) use asking::only_reading;
pub use error::{EngineError, EngineResult};
pub use learn::{Edit, Evidence, LearnReport, edit, learn, stored, stored_as};
pub use profile::{ProfileReport, profile};
pub use rows::Rows;
pub(crate) use rules::Said;
pub use session::{Engine, bare_context};
