//! Who may ask: a web page in a browser on this machine must not.

use hyper::header::{self, HeaderMap};

use crate::web::is_of_this_machine;

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
