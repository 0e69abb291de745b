//! A failure put before a call, in a run of the native form.

use fidelake_core::json::{Doc, Kind, Node};

use super::AugmentError;
use crate::formats::Object;

/// What is put where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The run that is copied.
    pub host: String,
    /// Turn of the call before which it is put; the only call of its turn.
    pub turn: i32,
    /// The run that the answer is from.
    pub donor: String,
    /// Place of the answer in it.
    pub donor_turn: i32,
    /// Place within the turn.
    pub donor_index: i32,
    /// Name of the new trajectory.
    pub trajectory: String,
    /// Texts of the donor's arguments and what the host has in their place.
    pub replaced: Vec<(String, String)>,
    /// The outcome.
    pub outcome: String,
}

/// The run with the failure in it, as a line: a trajectory of its own, of origin
/// `generated`, with both parents in its labels. Verdicts stay: the failed call changed
/// nothing, and the run goes on as it did.
///
/// # Errors
/// If a line is no run, or the call is not where it should be.
pub fn splice(host: &str, donor: &str, plan: &Splice) -> Result<String, AugmentError> {
    let bad = |run: &str, message: &str| AugmentError::Run {
        run: run.to_owned(),
        message: message.to_owned(),
    };
    let no_json =
        |run: &str, e: fidelake_core::json::ParseError| bad(run, &format!("it is no JSON: {e}"));
    let host_doc = Doc::parse(host).map_err(|e| no_json(&plan.host, e))?;
    let donor_doc = Doc::parse(donor).map_err(|e| no_json(&plan.donor, e))?;
    let (host, donor) = (host_doc.root(), donor_doc.root());
    let given = calls(donor)
        .find(|call| place(*call) == Some((plan.donor_turn, plan.donor_index)))
        .and_then(|call| call.get_some("result"))
        .ok_or_else(|| bad(&plan.donor, "the answer is not there"))?;
    let answer = replaced(given.raw(), &plan.replaced);

    let mut list = Vec::new();
    let mut found = false;
    for call in calls(host) {
        let (turn, index) = place(call).ok_or_else(|| bad(&plan.host, "a call has no place"))?;
        if turn == plan.turn {
            found = true;
            list.push(failed(call, plan, &answer));
        }
        let mut moved = Object::default();
        moved.raw("turn", &after(turn, plan.turn).to_string());
        moved.raw("index", &index.to_string());
        moved.rest(call.raw(), &[]);
        list.push(moved.finish());
    }
    if !found {
        return Err(bad(&plan.host, "the call is not there"));
    }
    let mut out = Object::default();
    out.raw("fidelake", "1")
        .text("trajectory_id", &plan.trajectory)
        .text("arm", "sim")
        .raw("repeat", "0")
        .text("origin", "generated")
        .raw("calls", &format!("[{}]", list.join(",")));
    if let Some(messages) = host.get_some("messages") {
        out.raw("messages", &conversation(messages, plan));
    }
    out.raw("labels", &labels(host, plan));
    out.rest(host.raw(), &[]);
    Ok(out.finish())
}

fn calls(run: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    run.get_some("calls").into_iter().flat_map(Node::elements)
}

/// Turn and index.
fn place(node: Node<'_>) -> Option<(i32, i32)> {
    let number = |key: &str| node.get_some(key)?.raw().parse().ok();
    Some((number("turn")?, number("index")?))
}

/// The turns behind the splice are one later.
const fn after(turn: i32, from: i32) -> i32 {
    if turn >= from { turn + 1 } else { turn }
}

/// The same call, failing; it has no state of its own, since none was recorded there.
fn failed(call: Node<'_>, plan: &Splice, answer: &str) -> String {
    let mut out = Object::default();
    out.raw("turn", &plan.turn.to_string()).raw("index", "0");
    for key in ["id", "name", "requestor", "arguments", "arguments_raw"] {
        if let Some(value) = call.get_some(key) {
            match key {
                // Two calls with one id would be two calls and one result somewhere.
                "id" => out.text(
                    key,
                    &format!("{}/failed", value.as_str().unwrap_or_default()),
                ),
                _ => out.raw(key, value.raw()),
            };
        }
    }
    out.raw("result", answer);
    out.finish()
}

/// The donor's answer with the host's arguments where it quotes its own.
fn replaced(answer: &str, pairs: &[(String, String)]) -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        fidelake_core::json::push_json_string(text, &mut out);
        // One quote at each end is not the text's own.
        let inner = out
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        inner.unwrap_or(&out).to_owned()
    };
    pairs.iter().fold(answer.to_owned(), |text, (from, to)| {
        text.replace(&quoted(from), &quoted(to))
    })
}

/// The message that makes the call is said twice, the second time without words.
fn conversation(messages: Node<'_>, plan: &Splice) -> String {
    let pair = |node: Node<'_>| {
        let mut numbers = node
            .elements()
            .map(|n| n.raw().parse::<i32>().unwrap_or_default());
        (
            numbers.next().unwrap_or_default(),
            numbers.next().unwrap_or_default(),
        )
    };
    let shifted = |node: Node<'_>| {
        let (turn, index) = pair(node);
        format!("[{},{index}]", after(turn, plan.turn))
    };
    let mut list = Vec::new();
    for message in messages.elements() {
        let made = message
            .get_some("calls")
            .filter(|made| made.kind() == Kind::Array);
        let here = made.is_some_and(|made| made.elements().any(|one| pair(one).0 == plan.turn));
        let mut out = Object::default();
        if here {
            let mut first = Object::default();
            first.raw("calls", &format!("[[{},0]]", plan.turn));
            first.rest(message.raw(), &[]);
            list.push(first.finish());
            let result = format!(r#"{{"role":"tool","result_of":[{},0]}}"#, plan.turn);
            list.push(result);
            out.raw("content", "null");
        }
        if let Some(made) = made {
            let places: Vec<String> = made.elements().map(shifted).collect();
            out.raw("calls", &format!("[{}]", places.join(",")));
        }
        if let Some(of) = message
            .get_some("result_of")
            .filter(|of| of.kind() == Kind::Array)
        {
            out.raw("result_of", &shifted(of));
        }
        out.rest(message.raw(), &[]);
        list.push(out.finish());
    }
    format!("[{}]", list.join(","))
}

fn labels(host: Node<'_>, plan: &Splice) -> String {
    let mut parents = String::from("[");
    for (at, run) in [&plan.host, &plan.donor].into_iter().enumerate() {
        if at > 0 {
            parents.push(',');
        }
        fidelake_core::json::push_json_string(run, &mut parents);
    }
    parents.push(']');
    let mut out = Object::default();
    out.raw("generated", "true")
        .raw("parents", &parents)
        .text("spliced", &plan.outcome)
        .raw("spliced_turn", &plan.turn.to_string());
    if let Some(labels) = host.get_some("labels") {
        out.rest(labels.raw(), &[]);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = r#"{"fidelake":1,"trajectory_id":"t","environment":"e","arm":"sim","repeat":3,"big":123456789012345678901,
"calls":[{"turn":0,"index":0,"name":"a","arguments":{},"result":{"content":"x"}},
{"turn":1,"index":0,"id":"c","name":"get","arguments":{"id":"u \"1\"","n":1.10},"result":{"content":"fine"}}],
"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"hm","calls":[[1,0]]},{"role":"tool","result_of":[1,0]}],
"verdicts":[{"judge":"j","reward":1.0}],"labels":{"k":1}}"#;
    const DONOR: &str = r#"{"calls":[{"turn":4,"index":1,"name":"get","arguments":{"id":"other"},
"result":{"content":"no answer for other in time","is_error":true,"latency_ms":1e2}}]}"#;

    fn plan() -> Splice {
        Splice {
            host: "h".into(),
            turn: 1,
            donor: "d".into(),
            donor_turn: 4,
            donor_index: 1,
            trajectory: "t/augmented/1".into(),
            replaced: vec![("other".into(), "u \"1\"".into())],
            outcome: "timeout".into(),
        }
    }

    #[test]
    fn the_call_fails_then_goes_as_before() {
        let line = splice(HOST, DONOR, &plan()).unwrap();
        let doc = Doc::parse(&line).unwrap();
        let run = doc.root();
        let places: Vec<_> = calls(run).map(|call| place(call).unwrap()).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 0)]);
        // Arguments and numbers as they were spelled, the quoted argument the host's own.
        assert!(line.contains(r#""turn":1,"index":0,"id":"c/failed","name":"get","arguments":{"id":"u \"1\"","n":1.10},"result":{"content":"no answer for u \"1\" in time","is_error":true,"latency_ms":1e2}"#), "{line}");
        assert!(
            line.contains(r#""turn":2,"index":0,"id":"c","name":"get""#),
            "{line}"
        );
        assert!(line.contains(r#""big":123456789012345678901"#));
        assert!(line.contains(r#"{"calls":[[1,0]],"role":"assistant","content":"hm"},{"role":"tool","result_of":[1,0]},{"content":null,"calls":[[2,0]],"role":"assistant"},{"result_of":[2,0],"role":"tool"}"#), "{line}");
        assert!(line.contains(r#""labels":{"generated":true,"parents":["h","d"],"spliced":"timeout","spliced_turn":1,"k":1}"#), "{line}");
        assert!(line.contains(r#""origin":"generated""#) && !line.contains(r#""repeat":3"#));
    }

    #[test]
    fn a_call_that_is_not_there_is_said() {
        let wrong = Splice { turn: 7, ..plan() };
        assert!(splice(HOST, DONOR, &wrong).is_err());
        let wrong = Splice {
            donor_index: 7,
            ..plan()
        };
        assert!(splice(HOST, DONOR, &wrong).is_err());
    }
}
