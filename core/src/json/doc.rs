//! The tape: one flat vector of nodes over the text they came from.

use super::flags::Flags;
use super::number;
use super::parse::{self, ParseError};
use super::python;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `null`, or Python's `None`.
    Null,
    /// `true` or `false`.
    Bool,
    /// Any number, `NaN` and the infinities included; its text is kept.
    Number,
    /// A string.
    String,
    /// An array, or a Python list, tuple or set.
    Array,
    /// An object: entries in the order given, duplicates included.
    Object,
}

/// A node of the tape. `next` skips the whole subtree, so siblings are found
/// without walking children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) kind: Kind,
    /// For strings: the text stands in the side buffer, because escapes were decoded.
    pub(super) decoded: bool,
    /// For strings: a lone surrogate stands in the text in its escaped form.
    pub(super) surrogate: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) next: u32,
    /// Strings: where the text starts. Bool: 1 for true.
    pub(super) offset: u32,
    /// Strings: length of the text. Containers: number of elements or entries.
    pub(super) len: u32,
}

/// A text read into a tape. Cheap to drop, and safe at any depth of nesting.
///
/// ```
/// use fidelake_core::json::Doc;
/// let doc = Doc::parse(r#"{"id": 18446744073709551617, "id": NaN}"#).unwrap();
/// let ids: Vec<_> = doc.root().entries().map(|(_, v)| v.raw()).collect();
/// assert_eq!(ids, ["18446744073709551617", "NaN"]);
/// ```
#[derive(Debug)]
pub struct Doc<'s> {
    pub(super) src: &'s str,
    pub(super) buf: String,
    pub(super) cells: Vec<Cell>,
    pub(super) flags: Flags,
    pub(super) depth: u32,
    /// Read as JSON: every string has double quotes around it.
    pub(super) is_json: bool,
}

impl<'s> Doc<'s> {
    /// Reads one JSON value; `NaN`, `Infinity`, raw control characters, lone
    /// surrogates, duplicate keys and any depth are accepted.
    ///
    /// # Errors
    /// [`ParseError`] with the byte offset of the fault.
    pub fn parse(src: &'s str) -> Result<Self, ParseError> {
        parse::parse(src)
    }

    /// Reads one value as Python's `repr` prints it (`{'a': None, 'b': (1, inf)}`).
    ///
    /// # Errors
    /// [`ParseError`] with the byte offset of the fault.
    pub fn parse_python(src: &'s str) -> Result<Self, ParseError> {
        python::parse(src)
    }

    /// The top value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { doc: self, at: 0 }
    }

    /// What was odd. [`Flags::DUPLICATE_KEYS`] is found by the canonical form,
    /// which sorts the keys anyway, and is not set here.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// The deepest nesting, 0 for a scalar.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many nodes stand on the tape, keys included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never true for a parsed text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Every string of the text that is a value (not a key), in order.
    pub fn string_values(&self) -> impl Iterator<Item = Node<'_>> {
        let mut keys_left = vec![];
        let mut skip_key = false;
        (0..self.cells.len()).filter_map(move |at| {
            let cell = &self.cells[at];
            while keys_left.last().is_some_and(|&(end, _)| at >= end) {
                keys_left.pop();
            }
            let in_object = keys_left.last().is_some_and(|&(_, object)| object);
            let is_key = in_object && !std::mem::replace(&mut skip_key, false);
            if is_key {
                skip_key = true;
                return None;
            }
            if matches!(cell.kind, Kind::Array | Kind::Object) {
                keys_left.push((cell.next as usize, cell.kind == Kind::Object));
                skip_key = false;
            }
            (cell.kind == Kind::String).then_some(Node {
                doc: self,
                at: at as u32,
            })
        })
    }
}

/// A place in a [`Doc`].
#[derive(Clone, Copy)]
pub struct Node<'d> {
    pub(super) doc: &'d Doc<'d>,
    pub(super) at: u32,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

impl<'d> Node<'d> {
    pub(super) fn cell(self) -> &'d Cell {
        &self.doc.cells[self.at as usize]
    }

    /// What stands here.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.cell().kind
    }

    /// The exact text of the source.
    #[must_use]
    pub fn raw(self) -> &'d str {
        let cell = self.cell();
        &self.doc.src[cell.start as usize..cell.end as usize]
    }

    /// Where [`Self::raw`] stands in the source, in bytes.
    #[must_use]
    pub fn span(self) -> std::ops::Range<usize> {
        let cell = self.cell();
        cell.start as usize..cell.end as usize
    }

    /// The decoded text of a string. A lone surrogate reads as its escape (`\ud83d`).
    #[must_use]
    pub fn as_str(self) -> Option<&'d str> {
        let cell = self.cell();
        if cell.kind != Kind::String {
            return None;
        }
        let range = cell.offset as usize..(cell.offset + cell.len) as usize;
        Some(if cell.decoded {
            &self.doc.buf[range]
        } else {
            &self.doc.src[range]
        })
    }

    /// Whether a lone surrogate stands in this string.
    #[must_use]
    pub fn has_lone_surrogate(self) -> bool {
        self.cell().surrogate
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The value of a boolean.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.cell().offset == 1)
    }

    /// The text of a number as given.
    #[must_use]
    pub fn number(self) -> Option<&'d str> {
        (self.kind() == Kind::Number).then(|| self.raw())
    }

    /// The value of an integer that fits; `1.0` and `1e0` are 1.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        number::canonical_number(self.number()?).parse().ok()
    }

    /// The nearest float; `NaN` and the infinities as such.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        number::to_f64(self.number()?)
    }

    /// What was odd in the whole text that this node stands in.
    #[must_use]
    pub fn flags(self) -> Flags {
        self.doc.flags
    }

    /// Elements of an array, entries of an object; 0 otherwise.
    #[must_use]
    pub fn len(self) -> usize {
        match self.kind() {
            Kind::Array | Kind::Object => self.cell().len as usize,
            _ => 0,
        }
    }

    /// Whether there are no elements or entries.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value under `key`. Of duplicates the last, as most readers do.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Node<'d>> {
        self.entries()
            .filter(|(k, _)| *k == key)
            .map(|(_, v)| v)
            .last()
    }

    /// The value under `key` if it is a string.
    #[must_use]
    pub fn get_str(self, key: &str) -> Option<&'d str> {
        self.get(key)?.as_str()
    }

    /// The value under `key` unless it is absent or null.
    #[must_use]
    pub fn get_some(self, key: &str) -> Option<Node<'d>> {
        self.get(key).filter(|v| !v.is_null())
    }

    /// The elements of an array; none for anything else.
    #[must_use]
    pub fn elements(self) -> Elements<'d> {
        Elements {
            doc: self.doc,
            at: self.at + 1,
            left: if self.kind() == Kind::Array {
                self.cell().len
            } else {
                0
            },
        }
    }

    /// The entries of an object in order, duplicates included; none for anything else.
    #[must_use]
    pub fn entries(self) -> Entries<'d> {
        Entries {
            doc: self.doc,
            at: self.at + 1,
            left: if self.kind() == Kind::Object {
                self.cell().len
            } else {
                0
            },
        }
    }
}

/// Iterator over the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'d> {
    doc: &'d Doc<'d>,
    at: u32,
    left: u32,
}

impl<'d> Iterator for Elements<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Node<'d>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let node = Node {
            doc: self.doc,
            at: self.at,
        };
        self.at = node.cell().next;
        Some(node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// Iterator over the entries of an object.
#[derive(Clone, Debug)]
pub struct Entries<'d> {
    doc: &'d Doc<'d>,
    at: u32,
    left: u32,
}

impl<'d> Entries<'d> {
    /// The next entry with its key as a node, for callers that need its span.
    pub fn next_nodes(&mut self) -> Option<(Node<'d>, Node<'d>)> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let key = Node {
            doc: self.doc,
            at: self.at,
        };
        let value = Node {
            doc: self.doc,
            at: key.cell().next,
        };
        self.at = value.cell().next;
        Some((key, value))
    }
}

impl<'d> Iterator for Entries<'d> {
    type Item = (&'d str, Node<'d>);

    fn next(&mut self) -> Option<(&'d str, Node<'d>)> {
        let (key, value) = self.next_nodes()?;
        Some((key.as_str().unwrap_or_default(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Entries<'_> {}
