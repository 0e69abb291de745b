//! From a record down to the strings in its strings.

use super::Mode;
use super::held::masked_part;
use super::keys::{KeyClass, key_class};
use super::patterns::{self, Found};
use super::personal;
use super::prefilter;
use super::rules::{Counts, Id};
use super::splice::{Edit, Label, Syntax, to_source};
use super::text_keys;
use crate::json::{Doc, Kind, Node};

/// Values inside strings inside strings are read this deep; below, as free text.
const DEPTH: u32 = 8;

/// The edits for a whole record, sorted, in places of its source.
pub(super) fn document(doc: &Doc<'_>, mode: Mode, counts: &mut Counts) -> Vec<Edit> {
    let edits = Walk { mode }.value(doc.root(), Syntax::Json, 0);
    for edit in &edits {
        counts.add(edit.rule);
    }
    edits
}

#[derive(Clone, Copy)]
struct Walk {
    mode: Mode,
}

/// An open container; what a key says holds for a list of strings under it too.
enum Open<'d> {
    Object(crate::json::Entries<'d>, Option<KeyClass>),
    Array(crate::json::Elements<'d>, Option<KeyClass>),
}

impl Walk {
    fn value(self, root: Node<'_>, syntax: Syntax, depth: u32) -> Vec<Edit> {
        let mut edits = vec![];
        let mut open = vec![];
        self.enter(root, None, syntax, depth, &mut open, &mut edits);
        while let Some(top) = open.last_mut() {
            let next = match top {
                Open::Object(entries, named) => entries.next().map(|(key, value)| {
                    let is_value = named.is_some() && key.eq_ignore_ascii_case("value");
                    let class = if is_value {
                        *named
                    } else {
                        self.class(key, value)
                    };
                    (value, class)
                }),
                Open::Array(elements, class) => elements.next().map(|value| (value, *class)),
            };
            match next {
                Some((value, class)) => {
                    self.enter(value, class, syntax, depth, &mut open, &mut edits);
                }
                None => {
                    open.pop();
                }
            }
        }
        edits
    }

    fn class(self, key: &str, value: Node<'_>) -> Option<KeyClass> {
        if !matches!(value.kind(), Kind::String | Kind::Array) {
            return None;
        }
        key_class(key).filter(|class| self.mode == Mode::All || *class != KeyClass::Phone)
    }

    fn enter<'d>(
        self,
        node: Node<'d>,
        class: Option<KeyClass>,
        syntax: Syntax,
        depth: u32,
        open: &mut Vec<Open<'d>>,
        edits: &mut Vec<Edit>,
    ) {
        match node.kind() {
            Kind::Object => open.push(Open::Object(node.entries(), self.header_class(node))),
            Kind::Array => open.push(Open::Array(
                node.elements(),
                class.or_else(|| self.pair_class(node)),
            )),
            Kind::String => {
                let Some(text) = node.as_str() else { return };
                let mut found = self.text(text, class, depth);
                if !found.is_empty() {
                    to_source(node.raw(), node.span().start, syntax, &mut found);
                    edits.append(&mut found);
                }
            }
            _ => {}
        }
    }

    /// `{"name": "Authorization", "value": "..."}` as lists of headers have it,
    /// the two next to each other.
    fn header_class(self, object: Node<'_>) -> Option<KeyClass> {
        if object.len() < 2 || object.len() > 12 {
            return None;
        }
        let named = object.entries().zip(object.entries().skip(1));
        let name = named
            .filter(|((key, _), (next, _))| {
                next.eq_ignore_ascii_case("value")
                    && ["name", "key", "header", "field"]
                        .iter()
                        .any(|word| key.eq_ignore_ascii_case(word))
            })
            .find_map(|((_, name), _)| name.as_str())?;
        key_class(name).filter(|class| self.mode == Mode::All || *class != KeyClass::Phone)
    }

    /// `["Authorization", "Bearer ..."]`. A list of two names (`required`) has the
    /// same form, so only what is surely a header counts.
    fn pair_class(self, array: Node<'_>) -> Option<KeyClass> {
        if array.len() != 2 {
            return None;
        }
        match key_class(array.elements().next()?.as_str()?)? {
            class @ (KeyClass::Authorization | KeyClass::Cookie) => Some(class),
            KeyClass::Secret => Some(KeyClass::Maybe),
            _ => None,
        }
    }

    /// The edits in one decoded text, sorted, in its own places.
    fn text(self, text: &str, class: Option<KeyClass>, depth: u32) -> Vec<Edit> {
        // An image holds no secret that anybody could find.
        if class.is_none() && (is_image(text) || !prefilter::candidate(text, self.mode)) {
            return vec![];
        }
        if depth < DEPTH
            && let Some(edits) = self.inner(text, depth)
        {
            return edits;
        }
        if let Some(edit) = class.and_then(|class| masked_part(class, text)) {
            return vec![edit];
        }
        self.free(text)
    }

    /// The edits in a value that the text spells; `None` if it spells none.
    fn inner(self, text: &str, depth: u32) -> Option<Vec<Edit>> {
        let trimmed = text.trim_ascii();
        let (first, last) = (trimmed.bytes().next()?, trimmed.bytes().next_back()?);
        let closed = matches!(
            (first, last),
            (b'{', b'}') | (b'[', b']') | (b'"', b'"') | (b'(', b')')
        );
        if !closed || trimmed.len() < 3 {
            return None;
        }
        if first != b'('
            && let Ok(doc) = Doc::parse(text)
        {
            return Some(self.value(doc.root(), Syntax::Json, depth + 1));
        }
        if first == b'"' {
            return None;
        }
        let doc = Doc::parse_python(text).ok()?;
        matches!(doc.root().kind(), Kind::Object | Kind::Array)
            .then(|| self.value(doc.root(), Syntax::Python, depth + 1))
    }

    /// Everything known by its shape or by a name before it.
    fn free(self, text: &str) -> Vec<Edit> {
        let mut found: Vec<Found> = vec![];
        patterns::shapes(text, &mut found);
        let personal = self.mode == Mode::All;
        text_keys::named(text, personal, &mut found);
        if personal {
            found.extend(personal::emails(text).map(|r| (r, Label::Email, Id::Email)));
            found.extend(personal::phones(text).map(|r| (r, Label::Phone, Id::Phone)));
        }
        // Where two overlap, the one that begins first and then the longer one counts.
        found.sort_by_key(|(range, ..)| (range.start, std::cmp::Reverse(range.end)));
        let mut edits: Vec<Edit> = Vec::with_capacity(found.len());
        for (range, label, rule) in found {
            let free = edits
                .last()
                .is_none_or(|last| last.range.end <= range.start);
            if free && !range.is_empty() {
                edits.push(Edit::new(text, range, label, rule));
            }
        }
        edits
    }
}

/// Whether a text is one long run of base64, with or without `data:` before it. Lines,
/// and signs that names and keys have, are none: a dump of settings must be looked at.
fn is_image(text: &str) -> bool {
    const LONG: usize = 4096;

    let body = match text.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,").map_or("", |(_, body)| body),
        None => text,
    };
    let plain = body.trim_end_matches('=');
    text.len() >= LONG
        && plain.len() >= LONG - 128
        && plain
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}
