//! The words of a run, and what can be derived about one call from what came back.
//!
//! * [`Arm`], [`Origin`], [`CallStatus`], [`ArgumentStatus`], [`Outcome`]: closed
//!   sets of words as they stand in tables;
//! * [`argument_status`]: what the model sent, never repaired;
//! * [`OutcomeRules`]: how a call ended, with the rule that says so;
//! * [`truncation`]: whether a text was cut before it reached us.

mod arguments;
mod broken;
mod derive;
mod fields;
mod outcome;
mod parts;
mod text_rules;
mod text_tables;
mod truncation;
mod words;

pub use arguments::{ArgumentStatus, argument_status};
pub use derive::{Derived, Evidence, OutcomeRules};
pub use outcome::Outcome;
pub use text_rules::{RuleError, TextRule};
pub use truncation::{truncation, truncation_mark};
pub use words::{Arm, CallStatus, Origin};
