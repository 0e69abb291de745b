//! Choosing training rows: near duplicates, coverage of tool sequences, walks
//! through a tool graph, pass rates, and the joint gate of fidelity and difficulty.
//!
//! What is chosen depends on the values, their order and a seed, and on nothing
//! else. docs/recipe.md says how the rules of a recipe use it.

mod coverage;
mod flow;
mod graph;
mod joint;
mod minhash;
mod pass;

pub use coverage::{Unit, cover};
pub use flow::{Flow, FlowCall, flows};
pub use graph::{ToolGraph, Walk, by_walks};
pub use joint::{FACTOR_RANGE, Joint, Member, Stratum, joint};
pub use minhash::{Near, PERMUTATIONS, bands, jaccard, near_duplicates, shingles};
pub use pass::{pass_at_k, pass_hat_k, smoothed_pass_rate};
