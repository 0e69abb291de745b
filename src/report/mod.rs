//! What several commands print: tables in every output format, texts made safe
//! for a terminal, slices, two runs side by side, and pages.

mod curation;
mod heat;
mod named;
mod output;
mod pair;
mod runs;
mod screen;
mod slice;
mod statements;
mod validation;

pub use curation::{
    Curation, CurationError, Extent, curation_batch, curation_page, draw_curation, load_curation,
};
pub use heat::{Heat, HeatCell, HeatError, shade};
pub use named::{NAMED, NamedQuery};
pub use output::{LineWriter, OutputError, OutputFormat, write_batches};
pub use pair::{
    Call, Limits, Pair, PairError, Profile, Run, Step, batch as pair_batch, draw as draw_pair,
    explained, load as load_pair,
};
pub use runs::{ExportError, run_lines, write_runs};
pub use screen::{Ink, Screen, fit, padded, safe, safe_lines, wrapped};
pub use slice::{Cell, Dimension, Slice, SliceError, Sliced};
pub use statements::{Statements, statements};
pub use validation::{
    batch as validation_batch, draw as draw_validation, draw_live, draw_stored, live_batch,
    svg as svg_validation,
};
