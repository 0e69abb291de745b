//! The values of arguments and answers, with where they stand.

use crate::json::{Doc, Kind, Node, canonical};

/// More values than this are not looked at.
const MOST: usize = 4096;

/// A value that has no parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Where it stands: `/flights/0/date`, `~` and `/` in keys written `~0` and `~1`.
    pub path: String,
    /// As it stands in a text: a string without its quotes, a number as spelled.
    pub shown: String,
    /// Its canonical JSON text.
    pub json: String,
}

impl Leaf {
    /// The last key of its path that is no position in a list.
    #[must_use]
    pub fn key(&self) -> &str {
        let named = |part: &&str| part.parse::<usize>().is_err();
        self.path.rsplit('/').find(named).unwrap_or_default()
    }
}

/// The strings and numbers of a JSON text, in order; none of what is no JSON.
#[must_use]
pub fn leaves(json: &str) -> Vec<Leaf> {
    let Ok(doc) = Doc::parse(json) else {
        return Vec::new();
    };
    let found = nodes(doc.root()).into_iter();
    found
        .map(|(path, node)| Leaf {
            path,
            shown: node.as_str().unwrap_or(node.raw()).to_owned(),
            json: canonical(node).0,
        })
        .collect()
}

/// Strings and numbers with their paths, in order.
pub(super) fn nodes(root: Node<'_>) -> Vec<(String, Node<'_>)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((path, node)) = open.pop() {
        match node.kind() {
            Kind::String | Kind::Number => found.push((path, node)),
            Kind::Array => {
                let inner: Vec<_> = node.elements().enumerate().take(MOST).collect();
                let inner = inner.into_iter().rev();
                open.extend(inner.map(|(at, node)| (format!("{path}/{at}"), node)));
            }
            Kind::Object => {
                let inner: Vec<_> = node.entries().take(MOST).collect();
                let inner = inner.into_iter().rev();
                open.extend(inner.map(|(key, node)| {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    (format!("{path}/{key}"), node)
                }));
            }
            Kind::Null | Kind::Bool => {}
        }
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// Whether every value of `inner` stands under the same key among `outer`: a read of
/// what a write named. False where there are none.
#[must_use]
pub fn within(inner: &[Leaf], outer: &[Leaf]) -> bool {
    let stands = |leaf: &Leaf| {
        let mut others = outer.iter();
        others.any(|other| other.json == leaf.json && other.key() == leaf.key())
    };
    !inner.is_empty() && inner.iter().all(stands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places() {
        let found = leaves(r#"{"a":"x","b":[{"c/d":1.10},null,true,"y"],"e":{}}"#);
        let found: Vec<_> = found.iter().map(|l| (&*l.path, &*l.shown)).collect();
        assert_eq!(found, [("/a", "x"), ("/b/0/c~1d", "1.10"), ("/b/3", "y")]);
        assert!(leaves("not json").is_empty());
        assert_eq!(leaves("7")[0].path, "");
    }

    #[test]
    fn a_read_asks_for_what_a_write_named() {
        let write = leaves(r#"{"reservation_id":"R1","cabin":"economy"}"#);
        assert!(within(&leaves(r#"{"reservation_id":"R1"}"#), &write));
        assert!(!within(&leaves(r#"{"reservation_id":"R2"}"#), &write));
        assert!(!within(&leaves(r#"{"user_id":"R1"}"#), &write));
        assert!(!within(&leaves("{}"), &write));
    }
}
