//! Which call uses what an earlier one gave: the edges of a tool graph.

use std::collections::{HashMap, HashSet};

use crate::json::key::Key;
use crate::json::{Doc, Kind, Node, structured_doc};

/// Leaves of one value that are looked at; a longer answer is read to here.
const LEAVES: usize = 20_000;

/// Shorter values (yes, 2, USA) stand everywhere and say nothing.
const SHORTEST: usize = 4;

/// Longer values are texts, not names.
const LONGEST: usize = 128;

/// A call of a run, in order.
#[derive(Clone, Copy, Debug)]
pub struct FlowCall<'a> {
    /// The tool.
    pub name: &'a str,
    /// Its arguments as JSON.
    pub arguments: Option<&'a str>,
    /// What came back: JSON, Python text or words.
    pub answer: Option<&'a str>,
}

/// The call `to` uses a value that the call `from` gave; both are places in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The producer.
    pub from: usize,
    /// The consumer.
    pub to: usize,
}

/// The edges of a run, sorted, each once. An argument value of 4 to 128 bytes comes
/// from the newest earlier answer in which it stands as a value or as a key, unless
/// the task says it already. Numbers count by their spelling.
#[must_use]
pub fn flows(task: &str, calls: &[FlowCall<'_>]) -> Vec<Flow> {
    let mut given: HashMap<u128, usize> = HashMap::new();
    let mut found = HashSet::new();
    for (to, call) in calls.iter().enumerate() {
        if let Some(arguments) = call.arguments {
            leaves(arguments, &mut |text, is_key| {
                if !is_key
                    && let Some(from) = given.get(&Key::of(text.as_bytes()).bits())
                    && !task.contains(text)
                {
                    found.insert(Flow { from: *from, to });
                }
            });
        }
        if let Some(answer) = call.answer {
            leaves(answer, &mut |text, _| {
                given.insert(Key::of(text.as_bytes()).bits(), to);
            });
        }
    }
    let mut found: Vec<Flow> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Hands out values and keys of a JSON or Python text, or the words of any other.
fn leaves(text: &str, take: &mut dyn FnMut(&str, bool)) {
    let mut left = LEAVES;
    let mut named = |text: &str, is_key: bool| {
        if (SHORTEST..=LONGEST).contains(&text.len()) {
            take(text, is_key);
        }
    };
    if let Ok(doc) = Doc::parse(text) {
        return walk(doc.root(), &mut left, &mut named);
    }
    if let Some((doc, _)) = structured_doc(text) {
        return walk(doc.root(), &mut left, &mut named);
    }
    let words = text.split(|c: char| c.is_whitespace() || "\"'()[]{},;:=".contains(c));
    for word in words.take(LEAVES) {
        named(word.trim_end_matches('.'), false);
    }
}

/// Without recursion: answers may be nested to any depth.
fn walk(root: Node<'_>, left: &mut usize, take: &mut dyn FnMut(&str, bool)) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match node.kind() {
            Kind::Object => {
                for (key, value) in node.entries() {
                    take(key, true);
                    open.push(value);
                }
            }
            Kind::Array => open.extend(node.elements()),
            _ => {
                if let Some(text) = node.as_str().or_else(|| node.number()) {
                    take(text, false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(name: &'a str, arguments: &'a str, answer: &'a str) -> FlowCall<'a> {
        FlowCall {
            name,
            arguments: Some(arguments),
            answer: Some(answer),
        }
    }

    #[test]
    fn values_flow_from_answers_to_arguments() {
        let calls = [
            call(
                "user",
                r#"{"id":"mia_li_3668"}"#,
                r#"{"cards":{"credit_77":{"left":1250}},"trips":["NO6JO3"]}"#,
            ),
            call(
                "trip",
                r#"{"id":"NO6JO3"}"#,
                "{'flight': 'HAT069', 'trips': ['NO6JO3']}",
            ),
            call(
                "pay",
                r#"{"card":"credit_77","trip":"NO6JO3","amount":1250,"ok":true}"#,
                "Paid with code QX-91.",
            ),
            call("mail", r#"{"text":"QX-91"}"#, ""),
        ];
        let edge = |from, to| Flow { from, to };
        // The newest giver of NO6JO3 is the trip; the card (a key) and the amount come from the user.
        assert_eq!(
            flows("I am mia_li_3668", &calls),
            [edge(0, 1), edge(0, 2), edge(1, 2), edge(2, 3)]
        );
        // What the task says flows from nowhere.
        assert_eq!(flows("NO6JO3 credit_77 1250 QX-91", &calls), []);
        // Its own answer is no source, and short values say nothing.
        assert_eq!(
            flows("", &[call("a", r#"{"x":"echoed"}"#, r#""echoed""#)]),
            []
        );
        assert_eq!(
            flows(
                "",
                &[
                    call("a", "{}", r#"["USA"]"#),
                    call("b", r#"{"x":"USA"}"#, "")
                ]
            ),
            []
        );
    }

    #[test]
    fn hostile_values_end() {
        let deep = format!("{}\"value\"{}", "[".repeat(50_000), "]".repeat(50_000));
        let broken = r#"{"a": "valu"#;
        assert_eq!(
            flows(
                "",
                &[call("a", broken, &deep), call("b", "no json", broken)]
            )
            .len(),
            0
        );
    }
}
