//! Values in a text, by the words around them.
//!
//! The way of scripts that fill in forms: in the clean world it is learnt which words
//! stand before and after a value of the arguments; in another text the value is what
//! stands between these words. Where they are not found the argument is left out.

use fidelake_core::json::{Doc, Kind, Node, push_json_string};

use super::super::rebind::{Binding, Step, apply, scalars};
use super::episode::Episode;

/// Words before a value that must be the same.
const BEFORE: usize = 2;
/// Words after it.
const AFTER: usize = 1;

/// Where one value of the arguments stood in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    argument: Vec<Step>,
    before: Vec<String>,
    /// How many words the value has.
    words: usize,
    after: Vec<String>,
    number: bool,
}

/// What was learnt, by right call.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Vec<Vec<Slot>>);

impl Slots {
    /// From what was told in the clean world, of all values that came from no answer.
    pub(super) fn learnt(episode: &Episode) -> Self {
        let told = episode.clean().unwrap_or_default();
        let bound = episode.bindings();
        let calls = episode.calls.iter().enumerate();
        Self(
            calls
                .map(|(at, call)| {
                    let Ok(doc) = Doc::parse(&call.arguments) else {
                        return Vec::new();
                    };
                    let free = scalars(doc.root()).into_iter().filter(|(path, _)| {
                        let from_answer = bound.get(at).into_iter().flatten();
                        !from_answer.clone().any(|binding| binding.argument == *path)
                    });
                    free.filter_map(|(path, node)| slot(path, node, told))
                        .collect()
                })
                .collect(),
        )
    }

    /// The arguments with the values that another text has in these places.
    pub(super) fn fill(&self, step: usize, arguments: &str, told: &str) -> String {
        let slots = self.0.get(step).map(Vec::as_slice).unwrap_or_default();
        let words = words(told);
        let found: Vec<Option<String>> = slots.iter().map(|slot| slot.read(&words)).collect();
        let mut values = String::from("[");
        for (at, value) in found.iter().enumerate() {
            values.push_str(if at > 0 { "," } else { "" });
            values.push_str(value.as_deref().unwrap_or("null"));
        }
        values.push(']');
        let bindings: Vec<Binding> = slots
            .iter()
            .enumerate()
            .map(|(at, slot)| Binding {
                argument: slot.argument.clone(),
                call: 0,
                path: vec![Step::At(at)],
            })
            .collect();
        let filled = apply(arguments, &bindings, &[Some(values)]).0;
        let lost = slots
            .iter()
            .zip(&found)
            .filter(|(_, value)| value.is_none());
        let lost: Vec<&Step> = lost.filter_map(|(slot, _)| slot.argument.first()).collect();
        without(&filled, &lost)
    }
}

fn slot(argument: Vec<Step>, node: Node<'_>, told: &str) -> Option<Slot> {
    let number = node.kind() == Kind::Number;
    let text = match node.kind() {
        Kind::String => node.as_str()?,
        Kind::Number => node.raw(),
        _ => return None,
    };
    let value: Vec<String> = words(text);
    let words = words(told);
    if value.is_empty() {
        return None;
    }
    let at = words.windows(value.len()).position(|part| part == value)?;
    let end = at + value.len();
    let slot = Slot {
        argument,
        before: words[at.saturating_sub(BEFORE)..at].to_vec(),
        words: value.len(),
        after: words[end..(end + AFTER).min(words.len())].to_vec(),
        number,
    };
    // A script that finds something else in its own text is of no use to anybody.
    let own = if number {
        text.to_owned()
    } else {
        quoted(text)
    };
    (slot.read(&words)? == own).then_some(slot)
}

impl Slot {
    /// The value as JSON text.
    fn read(&self, words: &[String]) -> Option<String> {
        let (before, after) = (self.before.len(), self.after.len());
        let all = before + self.words + after;
        let place = words.windows(all).find(|part| {
            same(&part[..before], &self.before) && same(&part[all - after..], &self.after)
        })?;
        let text = place[before..all - after].join(" ");
        match self.number {
            true => {
                let doc = Doc::parse(&text).ok()?;
                (doc.root().kind() == Kind::Number).then(|| text.clone())
            }
            false => Some(quoted(&text)),
        }
    }
}

fn same(a: &[String], b: &[String]) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| a.to_lowercase() == b.to_lowercase())
}

fn quoted(text: &str) -> String {
    let mut json = String::new();
    push_json_string(text, &mut json);
    json
}

/// Words without the marks around them.
fn words(text: &str) -> Vec<String> {
    let marks = |letter: char| {
        matches!(
            letter,
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | '(' | ')'
        )
    };
    text.split_whitespace()
        .map(|word| word.trim_matches(marks).to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// An object without some of its keys.
fn without(arguments: &str, keys: &[&Step]) -> String {
    let Ok(doc) = Doc::parse(arguments) else {
        return arguments.to_owned();
    };
    if keys.is_empty() || doc.root().kind() != Kind::Object {
        return arguments.to_owned();
    }
    let kept = doc.root().entries().filter(|(key, _)| {
        let is = |step: &&Step| matches!(step, Step::Key(name) if name == key);
        !keys.iter().any(is)
    });
    let kept = kept.map(|(key, value)| format!("{}:{}", quoted(key), value.raw()));
    format!("{{{}}}", kept.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::super::episode::Right;
    use super::*;

    fn filled(clean: &str, arguments: &str, told: &str) -> String {
        let episode = Episode {
            told: Some(clean.to_owned()),
            calls: vec![Right {
                name: "book".to_owned(),
                arguments: arguments.to_owned(),
                result: None,
            }],
            ..Episode::default()
        };
        Slots::learnt(&episode).fill(0, arguments, told)
    }

    #[test]
    fn a_value_is_read_between_the_words_that_stood_around_it() {
        let clean = "Please book a room in Rome, for 3 nights under the name Ann Lee.";
        let arguments = r#"{"city":"Rome","nights":3,"name":"Ann Lee","kind":"double"}"#;
        assert_eq!(filled(clean, arguments, clean), arguments);
        // Another value between the same words is taken.
        let other = "Please book a room in Rome, for 5 nights under the name Bo Ray.";
        assert_eq!(
            filled(clean, arguments, other),
            r#"{"city":"Rome","nights":5,"name":"Bo Ray","kind":"double"}"#
        );
        // The city is one of the words before the number of nights.
        let elsewhere = "Please book a room in Oslo, for 5 nights under the name Bo Ray.";
        assert_eq!(
            filled(clean, arguments, elsewhere),
            r#"{"city":"Oslo","name":"Bo Ray","kind":"double"}"#
        );
        // With other words around it a value is not found, and its argument is left out.
        let slipped = "Please book a rom in Rome, for 3 nigths under the name Ann Lee.";
        assert_eq!(
            filled(clean, arguments, slipped),
            r#"{"name":"Ann Lee","kind":"double"}"#
        );
    }

    #[test]
    fn what_stands_in_no_text_is_known_by_heart() {
        let arguments = r#"{"list":["a-1","b-2"],"on":true,"x":""}"#;
        assert_eq!(filled("nothing of it", arguments, "else"), arguments);
        let nested = r#"{"list":["a-1","b-2"],"on":true}"#;
        let clean = "take a-1 now and b-2 later";
        assert_eq!(filled(clean, nested, clean), nested);
        assert_eq!(
            filled(clean, nested, "take a-1 noow and b-2 later"),
            r#"{"on":true}"#
        );
        assert_eq!(filled("", "not json", ""), "not json");
    }
}
