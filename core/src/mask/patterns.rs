//! Secrets known by their own shape, wherever they stand in a text.

use std::sync::LazyLock;

use regex::Regex;

use super::judge::{is_basic_credential, looks_random, placeholder};
use super::rules::Id;
use super::splice::Label;

/// A found piece: where, how it is replaced, by which rule.
pub(super) type Found = (std::ops::Range<usize>, Label, Id);

/// Before a token: the edge of a word, or a line break that is written out.
const EDGE: &str = r"(?:(?-u:\b)|\\[nrt])";

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&pattern.replace("EDGE", EDGE)).ok()
}

static PEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=:,. \t\r\n\\\-]*?(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|[^A-Za-z0-9+/=:,. \t\r\n\\\-]|$)",
    )
});
static JWT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(r"EDGE(eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]*){1,3})")
});
static SCHEME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(r"(?i)EDGE(?:(bearer)|(basic))[ \t+]{1,3}([A-Za-z0-9._~+/%\-]{8,}={0,2})")
});
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(concat!(
        r"EDGE(sk-[A-Za-z0-9_\-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{36,}",
        r"|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_\-]{20,}|xox[abeoprs]-[A-Za-z0-9\-]{10,}",
        r"|xapp-[A-Za-z0-9\-]{20,}|A[KS]IA[A-Z0-9]{16}(?-u:\b)|AIza[A-Za-z0-9_\-]{35}|hf_[A-Za-z0-9]{30,}",
        r"|npm_[A-Za-z0-9]{36}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
        r"|ya29\.[A-Za-z0-9_\-.]{20,}|pypi-AgE[A-Za-z0-9_\-]{30,}|dckr_pat_[A-Za-z0-9_\-]{20,}",
        r"|dop_v1_[a-f0-9]{40,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|r8_[A-Za-z0-9]{37}|gsk_[A-Za-z0-9]{40,}",
        r"|xai-[A-Za-z0-9]{60,}|tvly-[A-Za-z0-9\-]{20,}|pplx-[A-Za-z0-9]{40,}|lsv2_[a-z]{2}_[a-f0-9_]{30,}",
        r"|nvapi-[A-Za-z0-9_\-]{40,})"
    ))
});
static URL_PASSWORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    regex(
        r#"[A-Za-z][A-Za-z0-9+.\-]{0,20}://[^\s:/@"'<>?#\\]{0,100}:([^\s/@"'<>?#\\]{1,200})@[A-Za-z0-9\[]"#,
    )
});

/// Everything of a known shape, rule by rule.
pub(super) fn shapes(text: &str, found: &mut Vec<Found>) {
    for m in each(&PEM, text) {
        let mut range = m.range();
        // The first byte after an unfinished block is not part of it.
        if !m.as_str().ends_with("-----") && m.end() < text.len() {
            range.end -= m.as_str().chars().next_back().map_or(0, char::len_utf8);
        }
        let body = text.get(range.clone()).unwrap_or_default();
        if body.len() > 70 {
            found.push((range, Label::Token, Id::PrivateKey));
        }
    }
    for captures in JWT.iter().flat_map(|r| r.captures_iter(text)) {
        if let Some(m) = captures.get(1) {
            found.push((m.range(), Label::Token, Id::Jwt));
        }
    }
    for captures in SCHEME.iter().flat_map(|r| r.captures_iter(text)) {
        let Some(m) = captures.get(3) else { continue };
        if captures.get(1).is_some() {
            if looks_random(m.as_str().trim_end_matches('.'), 16) && !placeholder(m.as_str()) {
                let end = m.start() + m.as_str().trim_end_matches('.').len();
                found.push((m.start()..end, Label::Token, Id::Authorization));
            }
        } else if is_basic_credential(m.as_str()) {
            found.push((m.range(), Label::Password, Id::Authorization));
        }
    }
    for captures in PREFIX.iter().flat_map(|r| r.captures_iter(text)) {
        let Some(m) = captures.get(1) else { continue };
        // `sk-fading-circle-with-many-words` is a name.
        if m.as_str().bytes().filter(u8::is_ascii_digit).count() > 1 || !m.as_str().contains('-') {
            found.push((m.range(), Label::Token, Id::KeyPrefix));
        }
    }
    for captures in URL_PASSWORD.iter().flat_map(|r| r.captures_iter(text)) {
        let Some(m) = captures.get(1) else { continue };
        if !placeholder(m.as_str()) {
            found.push((m.range(), Label::Password, Id::UrlPassword));
        }
    }
}

fn each<'t>(regex: &'t Option<Regex>, text: &'t str) -> impl Iterator<Item = regex::Match<'t>> {
    regex.iter().flat_map(move |r| r.find_iter(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for regex in [&*PEM, &*JWT, &*SCHEME, &*PREFIX, &*URL_PASSWORD] {
            assert!(regex.is_some());
        }
    }
}
