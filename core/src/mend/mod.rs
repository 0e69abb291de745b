//! What real answers teach of answers that nobody recorded.
//!
//! A recording answers the calls that were made. For other arguments there are two
//! ways to say no more than was seen: a [`Template`], which several answers share but
//! for values that stand in their arguments, and an [`Echo`], a field that always
//! repeats an argument. Both are induced from real answers that all agree, and one
//! answer that does not agree is enough against them.

mod echo;
mod leaves;
mod template;

pub use echo::{Echo, echoes, patched};
pub use leaves::{Leaf, leaves, within};
pub use template::{Induced, Template, induce};

/// So many answers to different arguments must agree before anything is made of them.
pub const AGREE: usize = 3;
