//! What goes back to the browser, with the headers that keep a page to itself.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

/// A response; bodies of files come piece by piece and may break off.
pub(super) type Reply = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// Nothing is loaded but our own stylesheet and script, nothing is sent elsewhere, nobody frames
/// a page: whatever a payload says, a browser has no leave to act on it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// A response of a type.
pub(super) fn reply(
    status: StatusCode,
    kind: &'static str,
    body: UnsyncBoxBody<Bytes, std::io::Error>,
) -> Reply {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A text that is there at once.
pub(super) fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let body = Full::new(text.into()).map_err(|never| match never {});
    reply(status, kind, body.boxed_unsync())
}

/// A page.
pub(super) fn html(status: StatusCode, text: String) -> Reply {
    whole(status, "text/html; charset=utf-8", text)
}

/// A stylesheet or a script of ours.
pub(super) fn asset(kind: &'static str, text: &'static str) -> Reply {
    let mut reply = whole(StatusCode::OK, kind, text);
    let kept = HeaderValue::from_static("max-age=300");
    reply.headers_mut().insert(header::CACHE_CONTROL, kept);
    reply
}
