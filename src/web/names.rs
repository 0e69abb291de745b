//! Names of this machine: a web page may have had its own name resolved to it.

use hyper::header::{self, HeaderMap};
use url::{Host, Url};

/// Whether the request was made to a name of this machine.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    host.is_some_and(|host| is_of_this_machine(&format!("http://{host}")))
}

/// No origin, or the one that was asked: a page of another site has its own.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if !headers.contains_key(header::ORIGIN) {
        return true;
    }
    let authority = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    authority.map(|(_, rest)| rest) == text(header::HOST)
}

/// Whether the address is one of this machine.
pub(crate) fn is_of_this_machine(url: &str) -> bool {
    let url = Url::parse(url);
    url.is_ok_and(|url| url.host().is_some_and(|host| is_loopback(&host)))
}

/// Whether the host is this machine, whatever a name server says.
pub(crate) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_name_that_a_web_page_brings_is_refused() {
        for (host, ours) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("[::1]:80", true),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            assert_eq!(names_this_machine(&headers), ours, "{host}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let headers = |origin: &'static str| {
            let mut map = HeaderMap::new();
            map.insert(header::HOST, HeaderValue::from_static("127.0.0.1:80"));
            map.insert(header::ORIGIN, HeaderValue::from_static(origin));
            map
        };
        assert!(is_from_here(&headers("http://127.0.0.1:80")));
        for other in ["null", "http://evil.example", "http://127.0.0.1:81"] {
            assert!(!is_from_here(&headers(other)), "{other}");
        }
        assert!(is_from_here(&HeaderMap::new()));
    }
}
