//! Secrets and personal data are masked before anything is written.
//!
//! Masking works on *values*, not on lines: a record is read, the string leaves
//! that hold a secret are found by the name of their key or by their own shape,
//! also inside JSON or Python text that stands in a string, and only the bytes
//! of the secret are cut out of the source. Every other byte stays as given.
//!
//! What was random is replaced by `<masked:token:1a2b3c4d>`, with eight digits
//! of its hash, so that two arms that saw the same token still agree. What could
//! be guessed (passwords, addresses, telephone numbers) gets no hash:
//! `<masked:password>`, `<masked:email>`, `<masked:phone>`.

mod held;
mod judge;
mod keys;
mod needles;
mod patterns;
mod personal;
mod prefilter;
mod rules;
mod splice;
mod surroundings;
mod text_keys;
mod walk;

use crate::json::Doc;

pub use rules::{Class, RULES_VERSION, Rule, rules};

/// How much is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Passwords, keys, tokens, cookies.
    #[default]
    Secrets,
    /// E-mail addresses and telephone numbers too.
    All,
}

impl Mode {
    /// The word on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Secrets => "secrets",
            Self::All => "all",
        }
    }

    /// Reads the word back; `None` for any other text.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Off, Self::Secrets, Self::All]
            .into_iter()
            .find(|mode| mode.name() == word)
    }
}

/// A record after masking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The record, from the first to the last byte of its value: white space
    /// around the record is not part of it.
    pub text: String,
    /// How often each rule masked something, in the order of [`rules`].
    pub counts: Vec<(&'static str, usize)>,
}

/// One masked piece may uncover the next (`a@b.org@c.org`); so much is followed.
const ROUNDS: usize = 16;

/// Masks a whole record. `None` when nothing had to be masked, which is the
/// usual case and costs one pass over the bytes.
///
/// The masked text reads again with [`Doc::parse`], has the same structure,
/// and differs only inside string values. Keys and numbers are never changed.
/// Masking a masked record changes nothing.
///
/// ```
/// use fidelake_core::json::Doc;
/// use fidelake_core::mask::{Mode, mask_record};
/// let doc = Doc::parse(r#"{"a": 1.50, "login": {"password": "hunter2"}}"#).unwrap();
/// let masked = mask_record(&doc, Mode::Secrets).unwrap();
/// assert_eq!(masked.text, r#"{"a": 1.50, "login": {"password": "<masked:password>"}}"#);
/// assert_eq!(masked.counts, [("password", 1)]);
/// ```
#[must_use]
pub fn mask_record(doc: &Doc<'_>, mode: Mode) -> Option<Masked> {
    let source = doc.root().raw();
    if mode == Mode::Off || !prefilter::candidate(source, mode) {
        return None;
    }
    let mut counts = rules::Counts::default();
    let edits = walk::document(doc, mode, &mut counts);
    if edits.is_empty() {
        return None;
    }
    let mut text = splice::apply(source, doc.root().span().start, &edits);
    for _ in 1..ROUNDS {
        let Ok(again) = Doc::parse(&text) else {
            break;
        };
        let edits = walk::document(&again, mode, &mut counts);
        if edits.is_empty() {
            break;
        }
        text = splice::apply(&text, 0, &edits);
    }
    Some(Masked {
        text,
        counts: counts.named(),
    })
}

#[cfg(test)]
mod tests;
