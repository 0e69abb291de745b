//! A text that several answers share, with slots for values of the arguments.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{Doc, Kind, push_json_string};

use super::leaves::{Leaf, leaves};

/// A longer text is no template.
const LONGEST: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(String),
    /// The value at this path of the arguments.
    Slot(String),
}

/// A text with slots.
///
/// ```
/// use fidelake_core::mend::{Template, leaves};
/// let seen = Template::of("Error: user mia_1 not found", &leaves(r#"{"user_id":"mia_1"}"#)).unwrap();
/// let filled = seen.fill(&leaves(r#"{"user_id":"ivan_2"}"#));
/// assert_eq!(filled.as_deref(), Some("Error: user ivan_2 not found"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template {
    parts: Vec<Part>,
    /// The text is JSON, so values stand escaped in it.
    json: bool,
}

/// A template with what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Induced {
    /// What the answers share.
    pub template: Template,
    /// How many different arguments were answered so.
    pub support: usize,
}

impl Template {
    /// The text with a slot wherever a value of the arguments stands as a word of its
    /// own. Values of fewer than three characters are no slots: they stand everywhere.
    /// Where two arguments have one value, the first of them is meant. `None` if the
    /// text is too long.
    #[must_use]
    pub fn of(text: &str, arguments: &[Leaf]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let json = is_container(text);
        let mut values: Vec<(String, &str)> = arguments
            .iter()
            .filter(|leaf| leaf.shown.chars().count() >= 3)
            .map(|leaf| (spelled(&leaf.shown, json), &*leaf.path))
            .collect();
        // The longest holds; the sort is stable, so of equals the first.
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let mut parts = Vec::new();
        let (mut from, mut at) = (0, 0);
        let mut before = None;
        while let Some(letter) = text[at..].chars().next() {
            let starts = !before.is_some_and(char::is_alphanumeric);
            let fits = |value: &str| {
                let after = text[at..].strip_prefix(value);
                after.is_some_and(|rest| !rest.chars().next().is_some_and(char::is_alphanumeric))
            };
            let found = values.iter().find(|(value, _)| starts && fits(value));
            if let Some((value, path)) = found {
                if from < at {
                    parts.push(Part::Text(text[from..at].to_owned()));
                }
                parts.push(Part::Slot((*path).to_owned()));
                at += value.len();
                from = at;
                before = value.chars().next_back();
            } else {
                at += letter.len_utf8();
                before = Some(letter);
            }
        }
        if from < text.len() {
            parts.push(Part::Text(text[from..].to_owned()));
        }
        Some(Self { parts, json })
    }

    /// The text for other arguments; `None` if they lack a value that it needs.
    #[must_use]
    pub fn fill(&self, arguments: &[Leaf]) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Slot(path) => {
                    let leaf = arguments.iter().find(|leaf| leaf.path == *path)?;
                    text.push_str(&spelled(&leaf.shown, self.json));
                }
            }
        }
        Some(text)
    }

    /// How many slots it has.
    #[must_use]
    pub fn slots(&self) -> usize {
        let slot = |part: &&Part| matches!(part, Part::Slot(_));
        self.parts.iter().filter(slot).count()
    }
}

fn is_container(text: &str) -> bool {
    matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && Doc::parse(text).is_ok_and(|doc| matches!(doc.root().kind(), Kind::Array | Kind::Object))
}

/// A value as it stands inside the quotes of JSON, or in a plain text.
fn spelled(value: &str, json: bool) -> String {
    if !json {
        return value.to_owned();
    }
    let mut quoted = String::with_capacity(value.len() + 2);
    push_json_string(value, &mut quoted);
    quoted[1..quoted.len() - 1].to_owned()
}

/// Templates that at least `least` different arguments share, those with the most
/// support first. `examples` are arguments (JSON text) and the text of the answer.
#[must_use]
pub fn induce<'a>(
    examples: impl IntoIterator<Item = (&'a str, &'a str)>,
    least: usize,
) -> Vec<Induced> {
    let mut groups: BTreeMap<Template, BTreeSet<&str>> = BTreeMap::new();
    for (arguments, text) in examples {
        if let Some(template) = Template::of(text, &leaves(arguments)) {
            groups.entry(template).or_default().insert(arguments);
        }
    }
    let mut found: Vec<Induced> = groups
        .into_iter()
        .filter(|(_, arguments)| arguments.len() >= least)
        .map(|(template, arguments)| Induced {
            template,
            support: arguments.len(),
        })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.support));
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_by_hand() {
        let seen = [
            (
                r#"{"user":"mia_1","n":250}"#,
                "no user mia_1 with 250 points",
            ),
            (
                r#"{"user":"bo_22","n":300}"#,
                "no user bo_22 with 300 points",
            ),
            (
                r#"{"user":"cy_33","n":111}"#,
                "no user cy_33 with 111 points",
            ),
            (r#"{"user":"dee_4","n":999}"#, "account dee_4 is locked"),
        ];
        let found = induce(seen, 3);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].support, found[0].template.slots()), (3, 2));
        let other = leaves(r#"{"user":"eve","n":777}"#);
        let filled = found[0].template.fill(&other);
        assert_eq!(filled.as_deref(), Some("no user eve with 777 points"));
        assert_eq!(found[0].template.fill(&leaves("{}")), None);
        // The same arguments three times are one witness.
        assert!(induce([seen[0], seen[0], seen[0]], 3).is_empty());
    }

    #[test]
    fn values_are_words_and_json_is_escaped() {
        let template = Template::of("abcd and abc, _abc", &leaves(r#"{"x":"abc"}"#)).unwrap();
        assert_eq!(template.slots(), 2);
        let json = Template::of(r#"{"said":"a \"b\""}"#, &leaves(r#"{"x":"a \"b\""}"#)).unwrap();
        assert_eq!(json.slots(), 1);
        let filled = json.fill(&leaves(r#"{"x":"new\nline"}"#)).unwrap();
        assert_eq!(filled, r#"{"said":"new\nline"}"#);
        let plain = Template::of("said: a\nb", &leaves(r#"{"x":"a\nb"}"#)).unwrap();
        assert_eq!(plain.slots(), 1);
    }

    proptest! {
        /// Filled with the arguments that it came from, a template is its text.
        #[test]
        fn filling_gives_back_the_text(words in prop::collection::vec("[a-zé ]{0,6}", 0..12), value in "[a-z]{3,5}") {
            let text = words.join(&value);
            let arguments = leaves(&format!("{{\"v\":{value:?},\"n\":100}}"));
            let template = Template::of(&text, &arguments).unwrap();
            prop_assert_eq!(template.fill(&arguments).unwrap(), text);
        }
    }
}
