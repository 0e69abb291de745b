//! Keys that have no column are kept, as JSON, under the name of where they stood.

use std::borrow::Cow;

use fidelake_core::json::{Node, push_json_string};

/// Collects leftovers into one JSON object.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    text: String,
}

impl Extra {
    /// Everything in `node` but the `known` keys; null values say nothing and are left out.
    pub(crate) fn of<'d>(node: Node<'d>, known: &[&str]) -> Option<Cow<'d, str>> {
        let mut extra = Self::default();
        extra.rest(node, known);
        extra.finish()
    }

    /// Everything in `node` but the `known` keys that could be read: of a key with
    /// a value of another type (`typed` says false) the value is kept as well.
    pub(crate) fn unread<'d>(
        node: Node<'d>,
        known: &[&str],
        typed: &[(&str, bool)],
    ) -> Option<Cow<'d, str>> {
        let mut extra = Self::default();
        for (key, value) in node.entries() {
            let lost = typed.iter().any(|(name, read)| *name == key && !read);
            if !value.is_null() && (lost || !known.contains(&key)) {
                extra.add(key, value.raw());
            }
        }
        extra.finish()
    }

    /// Adds what `node` holds beside the `known` keys.
    pub(crate) fn rest(&mut self, node: Node<'_>, known: &[&str]) {
        for (key, value) in node.entries() {
            if !known.contains(&key) && !value.is_null() {
                self.add(key, value.raw());
            }
        }
    }

    /// Adds what `node` holds beside the `known` keys as an object of its own.
    pub(crate) fn nested(&mut self, key: &str, node: Option<Node<'_>>, known: &[&str]) {
        if let Some(inner) = node.and_then(|node| Self::of(node, known)) {
            self.add(key, &inner);
        }
    }

    /// Adds one JSON text.
    pub(crate) fn add(&mut self, key: &str, json: &str) {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        push_json_string(key, &mut self.text);
        self.text.push(':');
        self.text.push_str(json);
    }

    /// The object, if anything was added.
    pub(crate) fn finish<'d>(mut self) -> Option<Cow<'d, str>> {
        if self.text.is_empty() {
            return None;
        }
        self.text.push('}');
        Some(Cow::Owned(self.text))
    }
}
