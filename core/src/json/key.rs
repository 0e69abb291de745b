//! Stable hashes: of calls, runs, catalogs, answers.
//!
//! BLAKE3, cut to 128 bits, written as 32 hex digits. They name things across
//! lakes and versions, so neither the hash nor what goes into it may change
//! without a new schema version.

use std::fmt;

use super::canonical::canonical;
use super::doc::{Kind, Node};

/// 128 bits of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// Hash of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(&blake3::hash(bytes))
    }

    /// Hash of a list of texts; the boundaries count, so `["ab", "c"]` and `["a", "bc"]` differ.
    #[must_use]
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self::from_hash(&hasher.finalize())
    }

    fn from_hash(hash: &blake3::Hash) -> Self {
        let mut first = [0u8; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self(u128::from_be_bytes(first))
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The first 64 bits as a signed number, for columns that sort by hash.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        (self.0 >> 64) as i64
    }

    /// Reads the 32 hex digits back.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 32)
            .then(|| u128::from_str_radix(hex, 16).ok())
            .flatten()
            .map(Self)
    }
}

/// Hashes what streams by.
#[derive(Clone, Debug, Default)]
pub struct KeyHasher(blake3::Hasher);

impl KeyHasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all that was added; the same as [`Key::of`] of it.
    #[must_use]
    pub fn finish(&self) -> Key {
        Key::from_hash(&self.0.finalize())
    }

    /// All 256 bits as 64 hex digits, as `b3sum` prints them.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The key of a call: its tool's name and its arguments in canonical form, or
/// their text (trimmed) where they are no object. Absent and empty arguments
/// count as `{}`.
#[must_use]
pub fn call_key(name: &str, arguments: Option<Node<'_>>, raw: &str) -> Key {
    let object = arguments.filter(|node| node.kind() == Kind::Object);
    call_key_of(name, object.map(|node| canonical(node).0).as_deref(), raw)
}

/// As [`call_key`], from the canonical form of arguments that are an object.
#[must_use]
pub fn call_key_of(name: &str, object: Option<&str>, raw: &str) -> Key {
    match object {
        Some(form) => Key::of_parts(&["object", name, form]),
        None if raw.trim().is_empty() => Key::of_parts(&["object", name, "{}"]),
        None => Key::of_parts(&["text", name, raw.trim()]),
    }
}

/// The sort key of a trajectory.
#[must_use]
pub fn trajectory_key(environment: &str, trajectory_id: &str) -> i64 {
    Key::of_parts(&[environment, trajectory_id]).as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn the_key_does_not_see_spelling() {
        let key = |raw: &str| {
            let doc = Doc::parse(raw).ok();
            call_key("f", doc.as_ref().map(Doc::root), raw)
        };
        assert_eq!(
            key(r#"{"a":1,"b":"x"}"#),
            key(r#"{ "b":"\u0078", "a":1.0 }"#)
        );
        assert_eq!(key(""), key("{}"));
        assert_ne!(key(r#"{"a":1}"#), key(r#"{"a":2}"#));
        assert_ne!(key("[1]"), key("[2]"));
        assert_ne!(key("{broken"), key("{brokem"));
    }

    #[test]
    fn hex_goes_both_ways_and_the_hash_never_changes() {
        let key = Key::of(b"fidelake");
        assert_eq!(Key::parse(&key.to_string()), Some(key));
        assert_eq!(key.to_string(), "2e631aa030bd010343c9d518852b889c");
        assert_eq!(Key::parse("xyz"), None);
    }
}
