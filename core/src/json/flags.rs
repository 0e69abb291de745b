//! What was odd about a text, as a small set that can be stored beside it.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Oddities seen while a text was read. Nothing here is an error: each names
/// something that other readers silently change.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

/// Names in the order of their bits; they are stored in tables, so they only grow.
const NAMES: [&str; 11] = [
    "nan",
    "infinity",
    "lone_surrogate",
    "duplicate_keys",
    "big_integer",
    "possibly_rounded",
    "control_character",
    "invalid_utf8",
    "json_in_string",
    "zone_unknown",
    "blob",
];

impl Flags {
    /// Nothing odd.
    pub const NONE: Self = Self(0);
    /// A bare `NaN`.
    pub const NAN: Self = Self(1);
    /// A bare `Infinity`, `-Infinity` or a number too large for a float.
    pub const INFINITY: Self = Self(1 << 1);
    /// Half of a surrogate pair, kept in its escaped form.
    pub const LONE_SURROGATE: Self = Self(1 << 2);
    /// The same key twice in one object; all of them are kept.
    pub const DUPLICATE_KEYS: Self = Self(1 << 3);
    /// An integer beyond 2^53, which a float cannot carry.
    pub const BIG_INTEGER: Self = Self(1 << 4);
    /// An integer beyond 2^53 that ends in `00`: a float may have rounded it already.
    pub const POSSIBLY_ROUNDED: Self = Self(1 << 5);
    /// A raw control character inside a string, which strict readers refuse.
    pub const CONTROL_CHARACTER: Self = Self(1 << 6);
    /// Bytes that are not UTF-8, kept as `\xNN`.
    pub const INVALID_UTF8: Self = Self(1 << 7);
    /// A string that holds a JSON object or array as text.
    pub const JSON_IN_STRING: Self = Self(1 << 8);
    /// A time without a zone: no latency may be computed across it.
    pub const ZONE_UNKNOWN: Self = Self(1 << 9);
    /// A long base64 text (an image, a sound); compared by hash, not as text.
    pub const BLOB: Self = Self(1 << 10);

    /// Whether nothing is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether everything in `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of what is set, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| *name)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
