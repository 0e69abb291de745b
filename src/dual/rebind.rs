//! Data flow: arguments that came from earlier results are taken from the live ones.
//!
//! A recording shows that a value came from a result if it stands there before it
//! stands anywhere else: not in what the agent was told, not in an argument. Then
//! it is bound to the call and the path of that first place. On a live run the
//! value at the same path takes its place in the arguments; every other byte of
//! them stays as recorded. Where the live result has nothing to offer at that
//! path, the recorded value is sent, and the run says so.

use std::collections::HashMap;

use fidelake_core::json::{Doc, Kind, Node, canonical, structured};
use serde::{Deserialize, Serialize};

/// Shorter texts occur by chance: states, yes and no, small counts.
const SHORTEST: usize = 3;

/// A step of a path: a key or a place in a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    At(usize),
    Key(String),
}

/// A value of an argument that came from an earlier result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    /// Where it stands in the arguments.
    pub(super) argument: Vec<Step>,
    /// Position of the call whose result had it first.
    pub(super) call: usize,
    /// Where it stands in that result.
    pub(super) path: Vec<Step>,
}

/// What became of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// Where it stands in the arguments.
    pub(super) argument: String,
    /// Call and path that it came from.
    pub(super) call: usize,
    pub(super) path: String,
    /// The live value, JSON text; `None` if the live result has none there.
    pub(super) value: Option<String>,
}

/// One call of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded<'a> {
    pub(super) turn: i32,
    pub(super) arguments: &'a str,
    /// The value of its result, JSON text.
    pub(super) result: Option<&'a str>,
}

/// The value of a result as given: of a text the value that it spells, of a list
/// with one text part the same of that text. `None` if it is just text.
pub(super) fn value_of(content: Node<'_>) -> Option<String> {
    if let Some(text) = content.as_str() {
        return structured(text).map(|found| found.canonical);
    }
    if content.kind() == Kind::Array && content.len() == 1 {
        let part = content.elements().next()?;
        if part.get_str("type") == Some("text")
            && let Some(text) = part.get_str("text")
        {
            return structured(text).map(|found| found.canonical);
        }
    }
    matches!(content.kind(), Kind::Array | Kind::Object).then(|| canonical(content).0)
}

/// As [`value_of`], of JSON text.
pub(super) fn value_of_text(content: &str) -> Option<String> {
    value_of(Doc::parse(content).ok()?.root())
}

/// The bindings of every call, in order.
pub(super) fn bindings(told: &[&str], calls: &[Recorded<'_>]) -> Vec<Vec<Binding>> {
    let mut known: HashMap<String, Option<(usize, Vec<Step>)>> = HashMap::new();
    let mut found = vec![Vec::new(); calls.len()];
    let mut from = 0;
    while from < calls.len() {
        // Calls of one turn are sent together: none of them has seen a result of another.
        let turn = calls[from].turn;
        let to = from
            + calls[from..]
                .iter()
                .take_while(|call| call.turn == turn)
                .count();
        for (position, call) in calls.iter().enumerate().take(to).skip(from) {
            let Ok(doc) = Doc::parse(call.arguments) else {
                continue;
            };
            for (path, node) in scalars(doc.root()) {
                let Some(value) = telling(node) else { continue };
                if let Some((source, at)) = known.entry(value).or_insert(None) {
                    found[position].push(Binding {
                        argument: path,
                        call: *source,
                        path: at.clone(),
                    });
                }
            }
        }
        for (position, call) in calls.iter().enumerate().take(to).skip(from) {
            let Some(doc) = call.result.and_then(|text| Doc::parse(text).ok()) else {
                continue;
            };
            for (path, node) in scalars(doc.root()) {
                let Some(value) = telling(node) else { continue };
                let text = node.as_str().unwrap_or(node.raw());
                known.entry(value).or_insert_with(|| {
                    let said = told.iter().any(|told| told.contains(text));
                    (!said).then_some((position, path))
                });
            }
        }
        from = to;
    }
    found
}

/// The canonical form of a value that hardly occurs twice by chance.
fn telling(node: Node<'_>) -> Option<String> {
    let long = match node.kind() {
        Kind::String => node
            .as_str()
            .is_some_and(|text| text.chars().count() >= SHORTEST),
        Kind::Number => node.raw().len() > SHORTEST,
        _ => false,
    };
    long.then(|| canonical(node).0)
}

/// Every value of a document that holds no others, with its path, in order.
pub(super) fn scalars(root: Node<'_>) -> Vec<(Vec<Step>, Node<'_>)> {
    let mut out = Vec::new();
    let mut stack = vec![(Vec::new(), root)];
    while let Some((path, node)) = stack.pop() {
        let step = |step: Step| {
            let mut longer = path.clone();
            longer.push(step);
            longer
        };
        let before = stack.len();
        match node.kind() {
            Kind::Object => {
                stack.extend(
                    node.entries()
                        .map(|(key, value)| (step(Step::Key(key.to_owned())), value)),
                );
            }
            Kind::Array => {
                stack.extend(
                    node.elements()
                        .enumerate()
                        .map(|(at, value)| (step(Step::At(at)), value)),
                );
            }
            _ => out.push((path, node)),
        }
        stack[before..].reverse();
    }
    out
}

fn walk<'d>(root: Node<'d>, path: &[Step]) -> Option<Node<'d>> {
    path.iter().try_fold(root, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::At(at) => node
            .elements()
            .nth(*at)
            .filter(|_| node.kind() == Kind::Array),
    })
}

/// A path for people: `$.reservations[0].id`.
fn spelled(path: &[Step]) -> String {
    let mut text = "$".to_owned();
    for step in path {
        match step {
            Step::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Step::At(at) => text.push_str(&format!("[{at}]")),
        }
    }
    text
}

/// The arguments with live values in the places of the recorded ones. `results`
/// are the values of the live results by position.
pub(super) fn apply(
    arguments: &str,
    bindings: &[Binding],
    results: &[Option<String>],
) -> (String, Vec<Bound>) {
    let Ok(doc) = Doc::parse(arguments) else {
        return (arguments.to_owned(), Vec::new());
    };
    let mut cuts = Vec::new();
    let mut bound = Vec::with_capacity(bindings.len());
    for binding in bindings {
        let live = results.get(binding.call).and_then(Option::as_deref);
        let live = live.and_then(|text| Doc::parse(text).ok());
        let value = live
            .as_ref()
            .and_then(|doc| walk(doc.root(), &binding.path))
            .filter(|node| matches!(node.kind(), Kind::String | Kind::Number | Kind::Bool))
            .map(|node| canonical(node).0);
        let place = walk(doc.root(), &binding.argument);
        if let (Some(value), Some(place)) = (&value, place)
            && canonical(place).0 != *value
        {
            cuts.push((place.span(), value.clone()));
        }
        bound.push(Bound {
            argument: spelled(&binding.argument),
            call: binding.call,
            path: spelled(&binding.path),
            value,
        });
    }
    cuts.sort_by_key(|(span, _)| span.start);
    let mut text = String::with_capacity(arguments.len());
    let mut at = 0;
    for (span, value) in cuts {
        text.push_str(&arguments[at..span.start]);
        text.push_str(&value);
        at = span.end;
    }
    text.push_str(&arguments[at..]);
    (text, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(turn: i32, arguments: &'a str, result: &'a str) -> Recorded<'a> {
        Recorded {
            turn,
            arguments,
            result: Some(result),
        }
    }

    #[test]
    fn a_value_is_bound_to_the_result_that_had_it_first() {
        let calls = [
            call(
                0,
                r#"{"user":"mia_li"}"#,
                r#"{"user":"mia_li","reservations":["NO6JO3","AIXC49"]}"#,
            ),
            call(1, r#"{"id": "AIXC49" }"#, r#"{"id":"AIXC49","price":1234}"#),
            call(
                2,
                r#"{"id":"AIXC49","pay":1234,"user":"mia_li","n":1}"#,
                "{}",
            ),
        ];
        let found = bindings(&["I am mia"], &calls);
        assert!(found[0].is_empty());
        // The user was an argument first, so it came from outside.
        let paths = |at: usize| -> Vec<(usize, String)> {
            found[at]
                .iter()
                .map(|b| (b.call, spelled(&b.path)))
                .collect()
        };
        assert_eq!(paths(1), [(0, "$.reservations[1]".to_owned())]);
        assert_eq!(
            paths(2),
            [
                (0, "$.reservations[1]".to_owned()),
                (1, "$.price".to_owned())
            ]
        );

        let live = [Some(r#"{"reservations":["A","B\"x"]}"#.to_owned()), None];
        let (text, bound) = apply(calls[1].arguments, &found[1], &live);
        assert_eq!(text, r#"{"id": "B\"x" }"#);
        assert_eq!(bound[0].argument, "$.id");
        let (text, bound) = apply(calls[2].arguments, &found[2], &live);
        assert_eq!(text, r#"{"id":"B\"x","pay":1234,"user":"mia_li","n":1}"#);
        assert_eq!(bound[1].value, None);
    }

    #[test]
    fn what_the_user_said_and_what_ran_beside_it_is_no_source() {
        let told = bindings(
            &["cancel AIXC49 please"],
            &[
                call(0, "{}", r#"["AIXC49"]"#),
                call(1, r#"{"id":"AIXC49"}"#, "{}"),
            ],
        );
        assert!(told[1].is_empty());
        let beside = bindings(
            &[],
            &[
                call(0, "{}", r#"["AIXC49"]"#),
                call(0, r#"{"id":"AIXC49"}"#, "{}"),
            ],
        );
        assert!(beside[1].is_empty());
    }
}
