//! Headers that go through, and those that do not.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

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

/// Whether the request was made to a name of this machine.
pub(super) fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
    else {
        return false;
    };
    let url = Url::parse(&format!("http://{host}"));
    url.is_ok_and(|url| url.host().is_some_and(|host| is_loopback(&host)))
}

pub(super) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
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

    #[test]
    fn a_name_that_a_web_page_brings_is_refused() {
        for (host, ours) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("[::1]:80", true),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
        ] {
            assert_eq!(
                names_this_machine(&headers(&[("host", host)])),
                ours,
                "{host}"
            );
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
