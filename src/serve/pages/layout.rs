//! A payload laid out in lines, those marked whose path differs between the arms.
//!
//! Payloads are not trusted and need not be JSON: the text is walked once, letter by letter, and
//! whatever it holds every letter of it is shown. Only where lines break is decided here.

use std::collections::HashSet;

/// Deeper values stay on one line.
const DEEPEST: usize = 40;

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    /// It holds a value at, or under, a path that differs.
    pub(super) differs: bool,
}

/// Where the walk is: in an object under a key, or in an array at a place.
enum Step {
    Key(String),
    Place(usize),
}

/// Lays a JSON text out; `paths` as in `$.a[0].b`.
pub(super) fn lines(json: &str, paths: &HashSet<&str>) -> Vec<Line> {
    let mut out = vec![Line::default()];
    let mut stack: Vec<Step> = Vec::new();
    let mut letters = json.char_indices().peekable();
    let mut in_key = false;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let end = text_end(json, at);
                let text = &json[at..end];
                while letters.next_if(|(next, _)| *next < end).is_some() {}
                if in_key && let Some(Step::Key(key)) = stack.last_mut() {
                    *key = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
                    in_key = false;
                    push(&mut out, text);
                    mark(&mut out, &stack, paths);
                } else {
                    push(&mut out, text);
                }
            }
            '{' | '[' => {
                push(&mut out, letter.encode_utf8(&mut [0; 4]));
                let empty =
                    letters.next_if(|(_, c)| matches!((letter, *c), ('{', '}') | ('[', ']')));
                if let Some((_, close)) = empty {
                    push(&mut out, close.encode_utf8(&mut [0; 4]));
                    continue;
                }
                stack.push(if letter == '{' {
                    Step::Key(String::new())
                } else {
                    Step::Place(0)
                });
                in_key = letter == '{';
                begin(&mut out, stack.len());
                mark(&mut out, &stack, paths);
            }
            '}' | ']' => {
                stack.pop();
                begin(&mut out, stack.len());
                push(&mut out, letter.encode_utf8(&mut [0; 4]));
                in_key = false;
            }
            ',' => {
                push(&mut out, ",");
                match stack.last_mut() {
                    Some(Step::Place(place)) => *place += 1,
                    Some(Step::Key(key)) => {
                        key.clear();
                        in_key = true;
                    }
                    None => {}
                }
                begin(&mut out, stack.len());
                mark(&mut out, &stack, paths);
            }
            ':' => push(&mut out, ": "),
            letter if letter.is_ascii_whitespace() => {}
            letter => push(&mut out, letter.encode_utf8(&mut [0; 4])),
        }
    }
    out.retain(|line| !line.text.trim().is_empty());
    out
}

/// The end of the quoted text that begins at `from`.
fn text_end(json: &str, from: usize) -> usize {
    let bytes = json.as_bytes();
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

fn push(out: &mut [Line], text: &str) {
    if let Some(line) = out.last_mut() {
        line.text.push_str(text);
    }
}

fn begin(out: &mut Vec<Line>, depth: usize) {
    out.push(Line {
        text: "  ".repeat(depth.min(DEEPEST)),
        differs: false,
    });
}

/// Marks the line if where the walk is, or something above it, differs.
fn mark(out: &mut [Line], stack: &[Step], paths: &HashSet<&str>) {
    if paths.is_empty() {
        return;
    }
    let mut path = "$".to_owned();
    let mut differs = paths.contains("$");
    for step in stack.iter().take(DEEPEST) {
        match step {
            Step::Place(place) => path.push_str(&format!("[{place}]")),
            Step::Key(key) if plain(key) => {
                path.push('.');
                path.push_str(key);
            }
            Step::Key(key) => {
                let quoted = serde_json::to_string(key).unwrap_or_default();
                path.push_str(&format!("[{quoted}]"));
            }
        }
        differs |= paths.contains(path.as_str());
    }
    if let Some(line) = out.last_mut() {
        line.differs |= differs;
    }
}

/// Keys that stand in a path without quotes.
fn plain(key: &str) -> bool {
    let mut letters = key.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(json: &str, paths: &[&str]) -> String {
        let paths = paths.iter().copied().collect();
        let lines = lines(json, &paths);
        let drawn = lines
            .iter()
            .map(|line| format!("{}{}", if line.differs { "*" } else { " " }, line.text));
        drawn.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn differing_paths_are_marked_with_all_under_them() {
        let json = r#"{"a":[{"b":"x,}"},2],"c d":{},"e":{"f":null}}"#;
        assert_eq!(
            drawn(json, &["$.a[0].b", "$[\"c d\"]", "$.e"]),
            " {\n   \"a\": [\n     {\n*      \"b\": \"x,}\"\n     },\n     2\n   ],\n*  \"c d\": {},\n*  \"e\": {\n*    \"f\": null\n   }\n }"
        );
    }

    #[test]
    fn what_is_no_json_loses_nothing_but_blanks() {
        for text in [
            "plain words",
            "\"open",
            "}}]]",
            "{\"a\":",
            "[[[",
            "{\"a\\",
            "é,ü",
        ] {
            let all: String = lines(text, &HashSet::new())
                .iter()
                .map(|line| line.text.trim().replace(": ", ":"))
                .collect();
            assert_eq!(all.replace(' ', ""), text.replace(' ', ""), "{text}");
        }
        let deep = "[".repeat(100_000);
        let size: usize = lines(&deep, &HashSet::new())
            .iter()
            .map(|l| l.text.len())
            .sum();
        assert!(size <= 100_000 * (2 * DEEPEST + 1));
    }
}
