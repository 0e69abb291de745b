//! Who may ask: a web page in a browser on this machine must not.

use hyper::header::{self, HeaderMap};
use url::{Host, Url};

/// Whether the request was made to a name of this machine. A page may have had its own
/// name resolved to it.
pub(super) fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    host.is_some_and(|host| is_of_this_machine(&format!("http://{host}")))
}

/// Whether it comes from no web page, from one of this machine, or from one that is
/// allowed.
pub(super) fn origin_may_ask(headers: &HeaderMap, allowed: &[String]) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    origins.all(|origin| {
        origin.to_str().is_ok_and(|origin| {
            allowed.iter().any(|one| one == origin) || is_of_this_machine(origin)
        })
    })
}

fn is_of_this_machine(url: &str) -> bool {
    let url = Url::parse(url);
    url.is_ok_and(|url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn pages_of_other_machines_may_not_ask() {
        let with = |name: header::HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            headers
        };
        for (host, ours) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("[::1]:80", true),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
        ] {
            assert_eq!(
                names_this_machine(&with(header::HOST, host)),
                ours,
                "{host}"
            );
        }
        assert!(!names_this_machine(&HeaderMap::new()));
        assert!(origin_may_ask(&HeaderMap::new(), &[]));
        for (origin, may) in [
            ("http://localhost:3000", true),
            ("https://evil.example", false),
            ("https://lab.example", true),
            ("null", false),
        ] {
            let headers = with(header::ORIGIN, origin);
            let allowed = ["https://lab.example".to_owned()];
            assert_eq!(origin_may_ask(&headers, &allowed), may, "{origin}");
        }
    }
}
