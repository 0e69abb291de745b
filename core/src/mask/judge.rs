//! Whether a value can be a secret at all.

/// Whether the whole text is one of our own replacements.
pub(super) fn is_mask(text: &str) -> bool {
    text.trim()
        .strip_prefix("<masked:")
        .and_then(|rest| rest.strip_suffix('>'))
        .is_some_and(|rest| {
            rest.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b':')
        })
}

/// Words that stand where a secret would stand and are none.
const PLACEHOLDERS: &[&str] = &[
    "string",
    "str",
    "text",
    "number",
    "integer",
    "int",
    "boolean",
    "bool",
    "any",
    "object",
    "array",
    "list",
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "access_token",
    "api_key",
    "apikey",
    "api-key",
    "key",
    "value",
    "required",
    "optional",
    "hidden",
    "redacted",
    "masked",
    "removed",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "n/a",
    "na",
    "unknown",
    "default",
    "empty",
    "changeme",
    "bearer",
    "basic",
    "header",
    "query",
    "cookie",
    "body",
];

/// Whether a value only says where a secret belongs: `YOUR_API_KEY`, `<token>`,
/// `${SECRET}`, `****`, `string`.
pub(super) fn placeholder(value: &str) -> bool {
    let value = value.trim();
    if value.len() < 2 || is_mask(value) {
        return true;
    }
    if PLACEHOLDERS
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
    {
        return true;
    }
    let enclosed = |open: &str, close: char| value.starts_with(open) && value.ends_with(close);
    if enclosed("<", '>')
        || enclosed("${", '}')
        || enclosed("{", '}')
        || enclosed("[", ']')
        || enclosed("%", '%')
        || value.starts_with("$(")
        || value.starts_with("{{")
    {
        return true;
    }
    let first = value.chars().next();
    if value.chars().all(|c| Some(c) == first)
        || value.contains("***")
        || value.contains("\u{2022}\u{2022}")
    {
        return true;
    }
    let mut start = String::with_capacity(12);
    start.extend(value.chars().take(12).map(|c| c.to_ascii_lowercase()));
    [
        "your",
        "my_",
        "my-",
        "os.",
        "process.env",
        "env.",
        "self.",
        "xxxx",
        "insert",
        "replace",
    ]
    .iter()
    .any(|word| start.starts_with(word))
}

/// Whether a value looks like something a machine made up: at least `min`
/// characters of the alphabets that tokens use, letters and digits mixed.
pub(super) fn looks_random(value: &str, min: usize) -> bool {
    if value.len() < min {
        return false;
    }
    let (mut digits, mut lower, mut upper, mut other) = (0, 0, 0, 0);
    for b in value.bytes() {
        match b {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' => lower += 1,
            b'A'..=b'Z' => upper += 1,
            b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%' | b'|' => other += 1,
            _ => return false,
        }
    }
    let letters = lower + upper;
    // Paths and hyphenated words have many separators, tokens few.
    let dense = other * 4 <= value.len();
    dense
        && letters > 0
        && (digits > 1
            || (digits == 1 && value.len() >= 20)
            || (lower > 3 && upper > 3 && value.len() >= 24))
}

/// `0x` and 40 or more hex digits: an address on a public ledger, not a secret.
pub(super) fn is_public_address(value: &str) -> bool {
    value.strip_prefix("0x").is_some_and(|hex| {
        (hex.len() == 40 || hex.len() == 64) && hex.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Whether a text is the base64 of `user:password`.
pub(super) fn is_basic_credential(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    if body.len() < 6 || body.len() > 400 {
        return false;
    }
    let (mut bits, mut have, mut colon) = (0u32, 0u32, false);
    for b in body.bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6) | u32::from(six);
        have += 6;
        if have >= 8 {
            have -= 8;
            let byte = (bits >> have) as u8;
            bits &= (1 << have) - 1;
            // Anything printable may stand in a name or a password.
            if byte < 0x20 || byte == 0x7F {
                return false;
            }
            colon |= byte == b':';
        }
    }
    colon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_secrets() {
        for value in [
            "",
            " ",
            "string",
            "YOUR_API_KEY",
            "<token>",
            "${SECRET}",
            "{{api_key}}",
            "****",
            "xxxxxxxx",
            "abc****def",
            "<masked:token:1a2b3c4d>",
            "<masked:password>",
            "os.environ['X']",
            "None",
            "REDACTED",
        ] {
            assert!(placeholder(value), "{value}");
        }
        for value in ["hunter2", "p@ss w0rd", "sk-12345", "<abc", "correct horse"] {
            assert!(!placeholder(value), "{value}");
        }
    }

    #[test]
    fn random_is_told_from_words() {
        for value in [
            "8f14e45fceea167a5a36dedd4bea2543",
            "dGhpc0lzTm90QVJlYWxUb2tlbg",
            "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
        ] {
            assert!(looks_random(value, 16), "{value}");
        }
        for value in [
            "authentication",
            "2024-05-13",
            "next page please 12",
            "a-b-c-d-e-f-g-h-1-2",
            "1234567890123456",
        ] {
            assert!(!looks_random(value, 16), "{value}");
        }
    }

    #[test]
    fn basic_credentials_decode() {
        assert!(is_basic_credential("dXNlcjpwYXNzd29yZA=="));
        assert!(!is_basic_credential("understanding"));
        assert!(!is_basic_credential("Authentication"));
    }
}
