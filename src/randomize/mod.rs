//! What the lake's experience is good for beside training data: the graph of it,
//! trajectories with the real world's rare failures in them, and targeted randomization:
//! which perturbations of the simulator, in which region and how strong, bring it nearest
//! to the real world for a budget (docs/graph.md, docs/augment.md, docs/randomize.md).

mod augment;
mod error;
mod file;
mod graph;
mod read;
mod work;

pub use augment::{AugmentError, Augmentation, Choice, Kind, Limits, Splice, augmentation, splice};
pub use error::RandomizeError;
pub use file::Randomization;
pub use graph::{
    Context, ContextError, Experience, GraphError, Next, Part, Tables, next, write_graphml,
    write_parquet,
};
pub use work::{Cell, Outcome, Request, randomize};
