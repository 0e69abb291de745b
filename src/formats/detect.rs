//! What a source is, from its first record.

use fidelake_core::json::{Doc, Kind, Node};

use super::{Format, Framing};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detected {
    /// A format that can be read.
    Known(Format, Framing),
    /// Something else; the text names it for people.
    Unknown(String),
}

/// Formats that are recognised but cannot be read, by the keys that give them away.
const OTHERS: &[(&[&str], &str)] = &[
    (
        &["responses_create_params"],
        "a NeMo-Gym rollout (OpenAI Responses form)",
    ),
    (&["answer_generation"], "a ToolBench answer"),
    (&["eval", "samples"], "an Inspect AI log"),
    (&["eval", "plan"], "an Inspect AI log"),
    (
        &["messages_display"],
        "a flattened tau-bench few-shot text (without its calls)",
    ),
    (&["schema_version", "steps"], "an ATIF trajectory"),
    (&["conversations"], "a ShareGPT conversation"),
    (&["resourceSpans"], "an OpenTelemetry export"),
    (&["log"], "a HAR capture"),
    (
        &["ticks", "task_id"],
        "a single full-duplex simulation of tau2-bench",
    ),
    (&["simulation_run"], "a hand-made tau2-bench example"),
    (
        &["task_id", "termination_reason"],
        "a single simulation of tau2-bench without its results.json",
    ),
    (&["user_scenario"], "a task of tau2-bench"),
    (
        &["info", "tasks"],
        "a tau2-bench results.json of the folder layout (its simulations stand in files of their own)",
    ),
    (&["jsonrpc"], "a single JSON-RPC message"),
    (&["method", "params"], "a single JSON-RPC message"),
];

/// Looks at the beginning of a decoded source. `whole` says that `head` is all of it.
pub(crate) fn detect(head: &str, whole: bool, forced: Option<Format>) -> Detected {
    let text = head.trim_start();
    match text.as_bytes().first() {
        None => Detected::Unknown("a file of nothing but white space".into()),
        Some(b'[') => from_array(text, forced),
        Some(b'{') => from_object(text, whole, forced),
        Some(_) => Detected::Unknown("something other than JSON".into()),
    }
}

fn from_array(text: &str, forced: Option<Format>) -> Detected {
    let first = text[1..].trim_start();
    if let Some(format) = forced {
        return match format {
            Format::Native | Format::McpWire => Detected::Unknown(format!(
                "a JSON array (the form {} has one record a line)",
                format.name()
            )),
            Format::Tau2 => {
                Detected::Unknown("a JSON array (a tau2 results file is an object)".into())
            }
            Format::Tau | Format::OpenAi => Detected::Known(format, Framing::Elements),
        };
    }
    let Some(end) = value_end(first) else {
        return Detected::Unknown("a JSON array whose first element is not complete".into());
    };
    let Ok(doc) = Doc::parse(&first[..end]) else {
        return Detected::Unknown("a JSON array whose first element is no JSON".into());
    };
    match [Format::Tau, Format::OpenAi]
        .into_iter()
        .find(|format| format.is(doc.root()))
    {
        Some(format) => Detected::Known(format, Framing::Elements),
        None => Detected::Unknown(format!(
            "a JSON array whose first element is {}",
            name(doc.root())
        )),
    }
}

fn from_object(text: &str, whole: bool, forced: Option<Format>) -> Detected {
    let line_end = text.find('\n').unwrap_or(text.len());
    let complete = line_end < text.len() || whole;
    let first_line = complete
        .then(|| Doc::parse(text[..line_end].trim_end()))
        .and_then(Result::ok);
    // An object over many lines: a document, not lines.
    let Some(doc) = first_line else {
        return document(text, whole, forced);
    };
    let root = doc.root();
    if let Some(format) = forced {
        return match format {
            Format::Tau2 => document(text, whole, forced),
            Format::McpWire => Detected::Known(format, Framing::Whole),
            _ => Detected::Known(format, Framing::Lines),
        };
    }
    match Format::ALL.into_iter().find(|format| format.is(root)) {
        Some(Format::Tau2) => document(text, whole, forced),
        Some(Format::McpWire) => Detected::Known(Format::McpWire, Framing::Whole),
        Some(format) => Detected::Known(format, Framing::Lines),
        None => Detected::Unknown(name(root)),
    }
}

/// One object over the whole source, of which only the head may be at hand.
fn document(text: &str, whole: bool, forced: Option<Format>) -> Detected {
    let keys = top_keys(text);
    let has = |key: &str| keys.iter().any(|(k, _)| k == key);
    let array = |key: &str| keys.iter().any(|(k, first)| k == key && *first == b'[');
    if whole && let Ok(doc) = Doc::parse(text) {
        let root = doc.root();
        if Format::Tau2.is(root) {
            let empty = root.get("simulations").is_some_and(Node::is_empty);
            if empty && root.get_some("simulation_index").is_some() {
                return Detected::Unknown(
                    "a tau2-bench results.json of the folder layout (its simulations stand in files of their own)".into(),
                );
            }
            return Detected::Known(Format::Tau2, Framing::Under("simulations"));
        }
        if matches!(forced, None | Some(Format::OpenAi)) && Format::OpenAi.is(root) {
            return Detected::Known(Format::OpenAi, Framing::Single);
        }
        if let Some(format @ (Format::Native | Format::Tau)) = forced {
            return Detected::Known(format, Framing::Single);
        }
        if Format::Native.is(root) && forced.is_none() {
            return Detected::Known(Format::Native, Framing::Single);
        }
        return Detected::Unknown(name(root));
    }
    if (array("simulations") || has("info")) && (has("info") || has("tasks")) {
        return Detected::Known(Format::Tau2, Framing::Under("simulations"));
    }
    if forced == Some(Format::Native) || (forced.is_none() && has("fidelake")) {
        return Detected::Known(Format::Native, Framing::Lines);
    }
    if let Some((_, what)) = OTHERS
        .iter()
        .find(|(wanted, _)| wanted.iter().all(|key| has(key)))
    {
        return Detected::Unknown((*what).to_owned());
    }
    if whole {
        return Detected::Unknown("a JSON object that is broken or cut off".into());
    }
    Detected::Unknown("a JSON object of an unknown form".into())
}

/// Words for an object that is none of ours.
fn name(root: Node<'_>) -> String {
    if root.kind() != Kind::Object {
        return "JSON that is no object".into();
    }
    let has = |key: &&str| root.get(key).is_some();
    if let Some((_, what)) = OTHERS.iter().find(|(keys, _)| keys.iter().all(has)) {
        return (*what).to_owned();
    }
    let keys: Vec<_> = root.entries().take(6).map(|(key, _)| key).collect();
    format!("a JSON object with the keys {}", keys.join(", "))
}

/// Keys of the top object with the first byte of their values, as far as the head goes.
fn top_keys(text: &str) -> Vec<(String, u8)> {
    let bytes = text.as_bytes();
    let mut keys = Vec::new();
    let mut at = 1;
    loop {
        at = skip(bytes, at, b" \t\r\n,");
        if bytes.get(at) != Some(&b'"') {
            return keys;
        }
        let Some(end) = value_end(&text[at..]) else {
            return keys;
        };
        let key = Doc::parse(&text[at..at + end]).ok();
        at = skip(bytes, at + end, b" \t\r\n:");
        let Some(&first) = bytes.get(at) else {
            return keys;
        };
        if let Some(key) = key.as_ref().and_then(|doc| doc.root().as_str()) {
            keys.push((key.to_owned(), first));
        }
        match text.get(at..).and_then(value_end) {
            Some(end) => at += end,
            None => return keys,
        }
    }
}

fn skip(bytes: &[u8], mut at: usize, these: &[u8]) -> usize {
    while bytes.get(at).is_some_and(|b| these.contains(b)) {
        at += 1;
    }
    at
}

/// Where the value at the start ends, by brackets and quotes only.
fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => {
                string = !string;
                if !string && depth == 0 {
                    return Some(at + 1);
                }
            }
            _ if string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}
