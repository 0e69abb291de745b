//! What the lake's experience is good for beside training data: the graph of it, and
//! trajectories with the real world's rare failures in them.

mod augment;
mod graph;

pub use augment::{AugmentError, Augmentation, Choice, Kind, Limits, Splice, augmentation, splice};
pub use graph::{
    Context, ContextError, Experience, GraphError, Next, Part, experience, next, write_graphml,
    write_parquet,
};
