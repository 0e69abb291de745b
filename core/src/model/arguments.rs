//! What a model sent as the arguments of a call. Flagged, never repaired.

use super::words::words;
use crate::json::{Doc, Kind};

words! {
    /// What the text of a call's arguments is.
    ArgumentStatus {
        /// Nothing: an empty text, white space or `null`. Not the same as `{}`.
        Empty = "empty",
        /// A JSON object, as it should be.
        Object = "object",
        /// Valid JSON, but a list, a string, a number, a boolean.
        NotObject = "not_object",
        /// No JSON. Python's `{'a': 1}` counts here: a server would refuse it.
        Unparseable = "unparseable",
        /// The call names no tool, whatever its arguments are.
        NoName = "no_name",
    }
}

/// Judges the arguments of a call to `name` as given in `raw`, and hands back
/// their value if the text is JSON other than `null`.
///
/// ```
/// use fidelake_core::model::{ArgumentStatus, argument_status};
/// assert_eq!(argument_status("f", r#"{"a": 1}"#).0, ArgumentStatus::Object);
/// assert_eq!(argument_status("f", "").0, ArgumentStatus::Empty);
/// assert_eq!(argument_status("f", "{'a': 1}").0, ArgumentStatus::Unparseable);
/// ```
#[must_use]
pub fn argument_status<'r>(name: &str, raw: &'r str) -> (ArgumentStatus, Option<Doc<'r>>) {
    let (status, doc) = if raw.trim().is_empty() {
        (ArgumentStatus::Empty, None)
    } else {
        match Doc::parse(raw) {
            Err(_) => (ArgumentStatus::Unparseable, None),
            Ok(doc) => match doc.root().kind() {
                Kind::Null => (ArgumentStatus::Empty, None),
                Kind::Object => (ArgumentStatus::Object, Some(doc)),
                _ => (ArgumentStatus::NotObject, Some(doc)),
            },
        }
    };
    if name.trim().is_empty() {
        return (ArgumentStatus::NoName, doc);
    }
    (status, doc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_text_has_its_status() {
        for (name, raw, status, value) in [
            ("f", "{}", ArgumentStatus::Object, true),
            ("f", " {\"a\":NaN} ", ArgumentStatus::Object, true),
            ("f", "", ArgumentStatus::Empty, false),
            ("f", " \n", ArgumentStatus::Empty, false),
            ("f", "null", ArgumentStatus::Empty, false),
            ("f", "[1]", ArgumentStatus::NotObject, true),
            ("f", "\"{}\"", ArgumentStatus::NotObject, true),
            ("f", "3", ArgumentStatus::NotObject, true),
            ("f", "{'a': 1}", ArgumentStatus::Unparseable, false),
            ("f", "{\"a\": 1", ArgumentStatus::Unparseable, false),
            ("f", "{\"a\":1,}", ArgumentStatus::Unparseable, false),
            ("f", "</think>{}", ArgumentStatus::Unparseable, false),
            ("", "{}", ArgumentStatus::NoName, true),
            (" ", "", ArgumentStatus::NoName, false),
        ] {
            let (got, doc) = argument_status(name, raw);
            assert_eq!((got, doc.is_some()), (status, value), "{name:?} {raw:?}");
        }
        for &status in ArgumentStatus::ALL {
            assert_eq!(ArgumentStatus::parse(status.as_str()), Some(status));
        }
    }
}
