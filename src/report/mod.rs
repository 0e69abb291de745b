//! What several commands print: tables in every output format.

mod output;

pub use output::{OutputError, OutputFormat, write_batches};
