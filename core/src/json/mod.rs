//! JSON as people really write it, read without loss and without recursion.
//!
//! Ordinary JSON libraries round big integers, reorder keys, drop duplicate
//! keys, refuse `NaN` and lone surrogates, and overflow the stack on deep
//! nesting. Evidence must survive all of that, so a text is read into a flat
//! tape ([`Doc`]) whose nodes point back at the exact bytes they came from.
//!
//! * [`Doc::parse`] reads JSON, [`Doc::parse_python`] the text that Python's
//!   `repr` makes of the same values;
//! * [`canonical`] writes the one form that equal values share;
//! * [`key`] hashes it.

mod canonical;
mod doc;
pub mod flags;
pub mod key;
mod number;
mod parse;
mod python;
mod split;
mod string;
mod structured;

pub use canonical::{canonical, canonical_into, push_json_string};
pub use doc::{Doc, Elements, Entries, Kind, Node};
pub use flags::Flags;
pub use number::{Decimal, canonical_number};
pub use parse::{ParseError, ParseErrorKind};
pub use split::{Piece, Splitter};
pub(crate) use structured::is_blob;
pub use structured::{Structured, StructuredRule, structured, structured_doc};
