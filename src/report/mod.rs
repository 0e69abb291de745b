//! What several commands print: tables in every output format, texts made safe
//! for a terminal, slices, and two runs side by side.

mod named;
mod output;
mod screen;
mod statements;

pub use named::{NAMED, NamedQuery};
pub use output::{LineWriter, OutputError, OutputFormat, write_batches};
pub use screen::{Ink, Screen, fit, padded, safe, safe_lines};
pub use statements::{Statements, statements};
