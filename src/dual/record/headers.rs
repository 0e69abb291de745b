//! Headers that go through, and those that do not.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// A client names the trajectory of its calls with this header; it is not passed on.
pub(super) const TRAJECTORY: HeaderName = HeaderName::from_static("fidelake-trajectory");

/// What belongs to one connection, and is not passed on.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers of a request as the server gets them. Compressed answers could not
/// be read along, so none are asked for.
pub(super) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut passed = without_hop_by_hop(headers);
    passed.remove(header::HOST);
    passed.remove(header::CONTENT_LENGTH);
    passed.remove(&TRAJECTORY);
    if passed.remove(header::ACCEPT_ENCODING).is_some() {
        passed.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
    }
    passed
}

pub(super) fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in HOP_BY_HOP
        .iter()
        .copied()
        .chain(named.iter().map(String::as_str))
    {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn what_belongs_to_one_connection_stays_there() {
        let given = headers(&[
            ("host", "127.0.0.1:1"),
            ("connection", "keep-alive, X-Own"),
            ("x-own", "1"),
            ("te", "trailers"),
            ("authorization", "Bearer t"),
            ("accept-encoding", "gzip, br"),
            ("fidelake-trajectory", "t/1"),
            ("mcp-session-id", "s"),
        ]);
        let passed = passed_on(&given);
        let mut names: Vec<_> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["accept-encoding", "authorization", "mcp-session-id"]
        );
        assert_eq!(passed["accept-encoding"], "identity");
    }
}
