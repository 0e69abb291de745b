//! The fields of an answer that say how the call went.

use crate::json::{Kind, Node};

/// Keys that say how it went and not what came back, without case, `_` and `-`.
const ENVELOPE: &[&str] = &[
    "error",
    "errors",
    "errormessage",
    "errormsg",
    "errorcode",
    "errortype",
    "exception",
    "message",
    "msg",
    "detail",
    "details",
    "title",
    "type",
    "status",
    "statuscode",
    "statustext",
    "httpstatus",
    "httpcode",
    "code",
    "success",
    "ok",
    "reason",
    "description",
    "traceid",
    "requestid",
    "timestamp",
    "path",
    "instance",
    "hint",
    "help",
    "documentationurl",
    "docs",
    "jsonrpc",
    "iserror",
    "meta",
    "headers",
];

fn is_key(key: &str, flat: &str) -> bool {
    let mut letters = key.bytes().filter(|b| !matches!(b, b'_' | b'-' | b' '));
    flat.bytes().all(|want| {
        letters
            .next()
            .is_some_and(|b| b.to_ascii_lowercase() == want)
    }) && letters.next().is_none()
}

/// The parts of an object that matter here.
#[derive(Default)]
pub(super) struct Parts<'d> {
    pub(super) error: Option<Node<'d>>,
    pub(super) errors: Option<Node<'d>>,
    pub(super) exception: Option<Node<'d>>,
    pub(super) status: Option<Node<'d>>,
    pub(super) code: Option<Node<'d>>,
    pub(super) success: Option<bool>,
    pub(super) is_error: bool,
    pub(super) message: Option<&'d str>,
    pub(super) title: Option<&'d str>,
    /// `response`, `result`, `output`: where wrappers put the answer itself.
    pub(super) inner: Option<Node<'d>>,
    /// Something came back besides status and message.
    pub(super) payload: bool,
    pub(super) inner_only: bool,
}

pub(super) fn parts(node: Node<'_>) -> Parts<'_> {
    let mut parts = Parts {
        inner_only: true,
        ..Parts::default()
    };
    for (key, value) in node.entries() {
        // `details` and the like are long in no data set; skip what cannot match.
        let known = key.len() <= 20;
        let is = |flat: &str| known && is_key(key, flat);
        let mut own = true;
        if is("error") || is("errormessage") || is("errormsg") {
            parts.error = parts
                .error
                .or(Some(value))
                .filter(|n| says_error(*n))
                .or(Some(value));
        } else if is("errors") {
            parts.errors = Some(value);
        } else if is("exception") {
            parts.exception = Some(value);
        } else if is("status") || is("statuscode") || is("httpstatus") || is("httpcode") {
            if parts.status.is_none_or(|s| s.kind() != Kind::Number) {
                parts.status = Some(value);
            }
        } else if is("code") || is("errorcode") {
            parts.code = Some(value);
        } else if is("success") || is("ok") {
            parts.success = value.as_bool().or(parts.success);
        } else if is("iserror") {
            parts.is_error = value.as_bool() == Some(true);
        } else if is("message") || is("msg") || is("reason") || is("detail") {
            parts.message = parts.message.or(value.as_str().filter(|s| !s.is_empty()));
        } else if is("title") {
            parts.title = value.as_str();
        } else if is("response") || is("result") || is("output") {
            parts.inner = Some(value);
            own = false;
            parts.payload |= !is_empty(value);
        } else if !(known && ENVELOPE.iter().any(|flat| is_key(key, flat))) {
            parts.payload |= !is_empty(value);
        }
        parts.inner_only &= !own || is("error");
    }
    parts
}

fn is_empty(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Null => true,
        Kind::String => node.as_str().is_some_and(str::is_empty),
        Kind::Array | Kind::Object => node.is_empty(),
        Kind::Bool | Kind::Number => false,
    }
}

/// Whether the value of an `error` field says that there was one.
pub(super) fn says_error(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Bool => node.as_bool() == Some(true),
        Kind::String => {
            let text = node.as_str().unwrap_or_default().trim();
            ![
                "",
                "none",
                "null",
                "false",
                "no",
                "ok",
                "success",
                "no error",
                "n/a",
                "0",
                "undefined",
            ]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
        }
        Kind::Object => !node.is_empty(),
        Kind::Array => node
            .elements()
            .next()
            .is_some_and(|first| matches!(first.kind(), Kind::String | Kind::Object)),
        Kind::Null | Kind::Number => false,
    }
}
