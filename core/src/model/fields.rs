//! Typed error fields in a value: `{"error": "..."}` and its kin.
//!
//! A record about something that failed (a job, a flight, a build) is a good
//! answer. So everything weaker than a non-empty `error` counts only in an
//! *envelope*: an object that holds nothing but status, message and the like.

use std::borrow::Cow;

use super::broken::{self, Wrapper};
use super::derive::Derived;
use super::outcome::Outcome;
use super::parts::{Parts, parts, says_error};
use super::text_rules::{self, beginning, head, reason};
use crate::json::{Doc, Kind, Node};

/// Answers inside answers (`{"error": "", "response": "{'status': 404}"}`) are followed this far.
const DEPTH: u32 = 3;
/// A text longer than this is not parsed to look for error fields.
const PARSE: usize = 1 << 20;
/// Below this length an answer that its wrapper calls an error has room for nothing else.
const SMALL: usize = 500;

/// What the text of an answer says, or the value that it spells.
pub(super) fn of_text(text: &str, depth: u32) -> Option<Derived> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[', '"']) {
        return beginning(text);
    }
    if depth < DEPTH && trimmed.len() <= PARSE {
        if let Ok(doc) = Doc::parse(trimmed) {
            return of_value(doc.root(), depth);
        }
        if let Ok(doc) = Doc::parse_python(trimmed) {
            return of_value(doc.root(), depth);
        }
    }
    of_broken(trimmed, depth)
}

/// What a value says.
pub(super) fn of_value(node: Node<'_>, depth: u32) -> Option<Derived> {
    match node.kind() {
        Kind::String => of_text_once(node.as_str()?, depth),
        Kind::Object => of_object(node, depth),
        // One block of text, as content lists have it.
        Kind::Array if node.len() == 1 => {
            let block = node.elements().next()?;
            let text = block.get_str("text")?;
            (block.get_str("type")? == "text")
                .then(|| of_text_once(text, depth))
                .flatten()
        }
        _ => None,
    }
}

fn of_text_once(text: &str, depth: u32) -> Option<Derived> {
    (depth < DEPTH).then(|| of_text(text, depth + 1)).flatten()
}

fn of_object(node: Node<'_>, depth: u32) -> Option<Derived> {
    let parts = parts(node);
    let error = parts.error.filter(|n| says_error(*n));
    if parts.inner_only
        && let Some(inner) = parts.inner
    {
        let weak = error.is_some_and(is_weak);
        if error.is_none() || weak {
            return of_inner(inner, weak, depth);
        }
    }
    if let Some(error) = error {
        let flag_and_data = matches!(error.kind(), Kind::Bool | Kind::Array) && parts.payload;
        if parts.success != Some(true) && !flag_and_data {
            return Some(of_error(error, &parts));
        }
    }
    if parts.is_error {
        return Some(explain(parts.message.unwrap_or_default(), "field:is_error"));
    }
    if parts.payload {
        return None;
    }
    if let Some(status) = parts.status.and_then(number).and_then(known_status) {
        return Some(Derived::new(status, "field:status"));
    }
    let message = parts.message.or_else(|| parts.error?.as_str());
    if let (Some(code), Some(_)) = (parts.code.and_then(number).and_then(known_status), message) {
        return Some(Derived::new(code, "field:code"));
    }
    if let Some(errors) = parts
        .errors
        .filter(|n| n.kind() == Kind::Array && says_error(*n))
    {
        let first = errors.elements().next()?;
        let text = first.as_str().or_else(|| first.get_str("message"));
        return Some(explain(text.unwrap_or(first.raw()), "field:errors"));
    }
    if let Some(exception) = parts.exception.and_then(Node::as_str) {
        return Some(explain(exception, "field:exception"));
    }
    let failed = parts.status.and_then(Node::as_str).is_some_and(|word| {
        ["error", "failed", "failure", "fail"]
            .iter()
            .any(|w| word.eq_ignore_ascii_case(w))
    });
    if failed && (message.is_some() || node.len() == 1) {
        return Some(explain(message.unwrap_or_default(), "field:status"));
    }
    if parts.success == Some(false) {
        return Some(explain(message.unwrap_or_default(), "field:success"));
    }
    None
}

/// ToolBench's wrapper writes this whenever the word "error" stands anywhere in the answer.
fn is_weak(error: Node<'_>) -> bool {
    error
        .as_str()
        .is_some_and(|text| text.trim().starts_with("Message error"))
}

/// The answer inside a wrapper that reports no error, or only a weak one.
fn of_inner(inner: Node<'_>, weak: bool, depth: u32) -> Option<Derived> {
    let found = match inner.kind() {
        Kind::Object if depth < DEPTH => of_object(inner, depth + 1),
        _ => of_value(inner, depth),
    };
    found.or_else(|| weak.then(|| of_weak(inner.as_str().unwrap_or(inner.raw()))))
}

fn of_weak(answer: &str) -> Derived {
    let structured = answer.trim_start().starts_with(['{', '[']);
    if structured && answer.len() > SMALL {
        return Derived::new(Outcome::Ok, "field:payload");
    }
    explain(answer, "field:error")
}

fn of_error(error: Node<'_>, parts: &Parts<'_>) -> Derived {
    let numbers = [parts.status, parts.code];
    let status = numbers
        .into_iter()
        .find_map(|n| known_status(number(n?)?))
        .map(|outcome| Derived::new(outcome, "field:status"));
    match error.kind() {
        Kind::Object => {
            let message = ["message", "msg", "detail", "description", "reason"]
                .iter()
                .find_map(|key| error.get_str(key))
                .unwrap_or(error.raw());
            let code = ["code", "status", "statusCode"]
                .iter()
                .find_map(|key| number(error.get(key)?));
            match code {
                Some(code) if (-32800..=-32000).contains(&code) => {
                    return text_rules::of_rpc(code, message);
                }
                Some(code) => {
                    if let Some(outcome) = known_status(code) {
                        return Derived::new(outcome, "field:status");
                    }
                }
                None => {}
            }
            let word = ["type", "code", "status", "name"]
                .iter()
                .find_map(|key| Outcome::of_error_type(error.get_str(key)?))
                .filter(|o| !matches!(o, Outcome::Ok | Outcome::ToolError));
            match word {
                Some(outcome) => Derived::new(outcome, "field:error"),
                None => status.unwrap_or_else(|| explain(message, "field:error")),
            }
        }
        Kind::String => status.unwrap_or_else(|| {
            let text = error.as_str().unwrap_or_default();
            let told = explain(text, "field:error");
            match parts.message {
                Some(message) if told.rule == "field:error" => explain(message, "field:error"),
                _ => told,
            }
        }),
        _ => status.unwrap_or_else(|| explain(parts.message.unwrap_or(error.raw()), "field:error")),
    }
}

/// A text that is known to be an error's.
fn explain(text: &str, rule: &'static str) -> Derived {
    beginning(text)
        .filter(|derived| derived.outcome != Outcome::ToolError)
        .or_else(|| reason(head(text)))
        .unwrap_or(Derived {
            outcome: Outcome::ToolError,
            rule: Cow::Borrowed(rule),
        })
}

fn number(node: Node<'_>) -> Option<i64> {
    node.as_i64().or_else(|| node.as_str()?.parse().ok())
}

/// Only statuses that servers send; 450 in a `code` field is some other number.
fn known_status(status: i64) -> Option<Outcome> {
    let known = matches!(status, 400..=418 | 420..=431 | 451 | 500..=511 | 520..=527 | 598 | 599);
    known.then(|| Outcome::of_status(status)).flatten()
}

/// What a wrapper says that does not parse.
fn of_broken(text: &str, depth: u32) -> Option<Derived> {
    let Wrapper { error, response } = broken::wrapper(text)?;
    let weak = error.trim().starts_with("Message error");
    if !error.trim().is_empty() && !weak {
        return Some(explain(&error.replace("\\n", "\n"), "field:error"));
    }
    let answer = response?;
    (depth < DEPTH)
        .then(|| of_text(answer, depth + 1))
        .flatten()
        .or_else(|| weak.then(|| of_weak(answer)))
}
