//! Patterns of low fidelity: calls of like difference put together, described and named.
//!
//! Calls come as signatures ([`Signature`]: which features hold, and of how many calls).
//! They are clustered ([`choose`]), each cluster is described by a rule of few
//! conditions ([`describe`]), held against noise ([`excess_p`], [`sign_p`], [`holm`]) and
//! named ([`family`]). docs/patterns.md defines what is computed.

mod agree;
mod arguments;
mod cluster;
mod evidence;
mod identity;
mod information;
mod name;
mod sequences;
mod silhouette;
mod space;
mod tree;

pub use agree::adjusted_rand;
pub use arguments::{Fault, argument_faults, argument_names};
pub use cluster::{Clustering, MAX_CHOSEN_ON, Method, Setting, choose, cluster};
pub use evidence::{NULL_EXCESS, call_excess, excess_p, holm, sign_p};
pub use identity::{Old, stable_ids};
pub use information::Belief;
pub use name::{CallFacts, Family, family};
pub use sequences::{Sequence, sequences};
pub use silhouette::{REAL_DISTANCE, silhouette};
pub use space::{Signature, embed};
pub use tree::{Literal, Row, Rule, describe};
