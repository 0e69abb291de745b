//! Ways in which a deployed world differs from the one that an agent was trained
//! in, made on purpose: of a task's text, of a catalog, of an answer
//! (docs/perturbations.md).
//!
//! Everything here is a function of its arguments and of a [`Draw`]: chance comes
//! from the seed, the trajectory and the place, never from what else runs. Texts
//! are changed by rules and word lists; no model is asked.

mod abbreviate;
mod answer;
mod catalog;
#[cfg(test)]
mod catalog_tests;
mod declaration;
mod decoy;
mod draw;
mod drift;
mod kind;
mod pages;
mod paraphrase;
mod synonyms;
mod typos;
mod words;

pub use answer::{New, malformed, rewritten, truncated};
pub use catalog::{Offer, Offered, offer};
pub use draw::{Draw, unit};
pub use drift::drifted;
pub use kind::{ActsOn, Dimension, Perturbation};
pub use pages::{CURSOR, paged, with_cursor, without_cursor};
pub use paraphrase::{Register, paraphrased};
pub use typos::mistyped;
