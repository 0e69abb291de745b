//! Rows to files, one module per container and one list of columns per consumer.
//!
//! ```text
//! rows -> shards (writer) -> every format at once (shard) -> journal -> names
//! ```

mod arrow;
mod column;
mod flat;
mod format;
mod item;
mod journal;
mod lines;
mod mds;
mod parquet;
mod rl;
mod sft;
mod shard;
mod tar;
mod writer;

pub use format::Format;

pub(super) use format::Container;
pub(super) use item::{Item, Totals};
pub(super) use journal::{Journal, Work, drop_unfinished, finished};
pub(super) use mds::index as mds_index;
pub(super) use shard::{Done, hash_file};
pub(super) use writer::{Limits, Writer};

#[cfg(test)]
mod tests;
