//! An answer in a wrapper whose inner quotes were never escaped: no JSON, and common.

/// The two parts of ToolBench's wrapper.
pub(super) struct Wrapper<'t> {
    pub(super) error: &'t str,
    pub(super) response: Option<&'t str>,
}

/// Takes `{"error": "...", "response": "..."}` apart although it does not parse.
pub(super) fn wrapper(text: &str) -> Option<Wrapper<'_>> {
    let (error, rest) = quoted(after_key(text.strip_prefix('{')?, "error")?)?;
    let response = rest
        .trim_start()
        .strip_prefix(',')
        .and_then(|rest| after_key(rest, "response"))
        .map(|answer| {
            let answer = answer.strip_prefix(['"', '\'']).unwrap_or(answer);
            let answer = answer.trim_end().trim_end_matches('}').trim_end();
            answer.strip_suffix(['"', '\'']).unwrap_or(answer)
        });
    Some(Wrapper { error, response })
}

fn after_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = text.trim_start().strip_prefix(['"', '\''])?;
    let rest = rest.strip_prefix(key)?.strip_prefix(['"', '\''])?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// A quoted text and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.bytes().next().filter(|b| matches!(b, b'"' | b'\''))?;
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return Some((&text[1..at], &text[at + 1..])),
            _ => at += 1,
        }
    }
    None
}
