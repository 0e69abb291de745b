//! Fields of an answer that repeat an argument.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{Doc, canonical};

use super::leaves::{leaves, nodes};

/// A field that was an argument's value wherever both were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Path in the answer.
    pub field: String,
    /// Path in the arguments.
    pub argument: String,
    /// How many answers had both.
    pub support: usize,
}

#[derive(Default)]
struct Seen {
    equal: usize,
    values: BTreeSet<String>,
    arguments: BTreeSet<usize>,
}

/// Fields that repeat an argument in all of at least `least` answers to different
/// arguments, with at least two different values. `examples` are arguments and
/// answers, both JSON texts; answers that are no JSON say nothing.
///
/// Where two arguments always have the field's value, the one with the field's own
/// name is meant, else the first.
#[must_use]
pub fn echoes(examples: &[(&str, &str)], least: usize) -> Vec<Echo> {
    let read: Vec<_> = examples
        .iter()
        .map(|(arguments, answer)| (leaves(arguments), leaves(answer)))
        .collect();
    let mut forms: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs: BTreeMap<(&str, &str), Seen> = BTreeMap::new();
    for (at, (arguments, answer)) in read.iter().enumerate() {
        let next = forms.len();
        let form = *forms.entry(examples[at].0).or_insert(next);
        let mut by_value: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for leaf in answer {
            by_value.entry(&leaf.json).or_default().push(&leaf.path);
        }
        for argument in arguments {
            for field in by_value.get(&*argument.json).into_iter().flatten() {
                let seen = pairs.entry((*field, &*argument.path)).or_default();
                seen.equal += 1;
                seen.values.insert(argument.json.clone());
                seen.arguments.insert(form);
            }
        }
    }
    let fields: Vec<(BTreeSet<&str>, BTreeSet<&str>)> = read
        .iter()
        .map(|(arguments, answer)| {
            (
                arguments.iter().map(|leaf| &*leaf.path).collect(),
                answer.iter().map(|leaf| &*leaf.path).collect(),
            )
        })
        .collect();
    let mut found: BTreeMap<&str, Echo> = BTreeMap::new();
    for ((field, argument), seen) in &pairs {
        let both = |(has, answered): &&(BTreeSet<&str>, BTreeSet<&str>)| {
            has.contains(argument) && answered.contains(field)
        };
        let always = fields.iter().filter(both).count() == seen.equal;
        if !always || seen.arguments.len() < least || seen.values.len() < 2 {
            continue;
        }
        let named = |path: &str| path.rsplit('/').next() == field.rsplit('/').next();
        let before = found.get(field);
        if before.is_none_or(|before| !named(&before.argument) && named(argument)) {
            found.insert(
                field,
                Echo {
                    field: (*field).to_owned(),
                    argument: (*argument).to_owned(),
                    support: seen.equal,
                },
            );
        }
    }
    found.into_values().collect()
}

/// An answer with its echoing fields set to what was asked; `None` if they are, or if
/// the answer is no JSON. What else stands in the text stays as it is spelled.
#[must_use]
pub fn patched(answer: &str, arguments: &str, echoes: &[Echo]) -> Option<String> {
    if echoes.is_empty() {
        return None;
    }
    let asked = leaves(arguments);
    let doc = Doc::parse(answer).ok()?;
    let places = nodes(doc.root());
    let mut edits: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    for echo in echoes {
        let wanted = asked.iter().find(|leaf| leaf.path == echo.argument);
        let stands = places.iter().find(|(path, _)| *path == echo.field);
        if let (Some(wanted), Some((_, node))) = (wanted, stands)
            && canonical(*node).0 != wanted.json
        {
            edits.push((node.span(), &wanted.json));
        }
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut text = String::with_capacity(answer.len());
    let mut from = 0;
    for (place, new) in &edits {
        text.push_str(&answer[from..place.start]);
        text.push_str(new);
        from = place.end;
    }
    text.push_str(&answer[from..]);
    (!edits.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEEN: [(&str, &str); 4] = [
        (
            r#"{"id":"R1","cabin":"economy"}"#,
            r#"{"id":"R1","cabin":"economy","price":10}"#,
        ),
        (
            r#"{"id":"R2","cabin":"business"}"#,
            r#"{"id":"R2","cabin":"business","price":20}"#,
        ),
        (
            r#"{"id":"R3","cabin":"economy"}"#,
            r#"{"id":"R3","cabin":"economy","price":20}"#,
        ),
        (r#"{"id":"R4","cabin":"economy"}"#, "no JSON at all"),
    ];

    #[test]
    fn worked_by_hand() {
        let found = echoes(&SEEN, 3);
        let pairs: Vec<_> = found
            .iter()
            .map(|e| (&*e.field, &*e.argument, e.support))
            .collect();
        assert_eq!(pairs, [("/cabin", "/cabin", 3), ("/id", "/id", 3)]);
        let stale = r#"{"id": "R9", "cabin": "economy", "price": 1.10}"#;
        let mended = patched(stale, r#"{"id":"R9","cabin":"business"}"#, &found).unwrap();
        assert_eq!(
            mended,
            r#"{"id": "R9", "cabin": "business", "price": 1.10}"#
        );
        assert_eq!(
            patched(&mended, r#"{"id":"R9","cabin":"business"}"#, &found),
            None
        );
    }

    #[test]
    fn one_that_disagrees_is_enough() {
        let mut seen = SEEN.to_vec();
        seen.push((
            r#"{"id":"R5","cabin":"business"}"#,
            r#"{"id":"R5","cabin":"first","price":1}"#,
        ));
        let found = echoes(&seen, 3);
        assert!(found.iter().all(|echo| echo.field != "/cabin"), "{found:?}");
        // A value that never changed may be a constant of the world.
        let same = [
            (r#"{"a":"x","n":1}"#, r#"{"b":"x"}"#),
            (r#"{"a":"x","n":2}"#, r#"{"b":"x"}"#),
            (r#"{"a":"x","n":3}"#, r#"{"b":"x"}"#),
        ];
        assert!(echoes(&same, 3).is_empty());
    }

    proptest! {
        /// Whatever was induced holds in every example, so it changes none of them.
        #[test]
        fn what_is_induced_changes_no_example(rows in prop::collection::vec((0..3u8, 0..3u8, 0..3u8, any::<bool>()), 0..12)) {
            let texts: Vec<(String, String)> = rows.iter().map(|(a, b, c, same)| {
                let shown = if *same { a } else { c };
                (format!("{{\"a\":{a},\"b\":{b}}}"), format!("{{\"x\":{shown},\"y\":[{b},{c}]}}"))
            }).collect();
            let examples: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
            let found = echoes(&examples, 2);
            for (arguments, answer) in &examples {
                prop_assert_eq!(patched(answer, arguments, &found), None);
            }
        }
    }
}
