//! What came back, changed inside whatever wraps it.

use crate::json::{Doc, Kind, Node, push_json_string};
use crate::stats::Chance;

use super::declaration::spliced;
use super::draw::unit;

/// A changed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum New {
    /// JSON text of a value.
    Json(String),
    /// A text that is no JSON any more.
    Text(String),
}

/// The content of an answer with what the tool said changed: the texts of MCP's
/// content parts, the text of a JSON string, else the value itself. `change` gets
/// the text and gives `None` to leave it; `None` if nothing was changed.
pub fn rewritten(content: &str, mut change: impl FnMut(&str) -> Option<New>) -> Option<String> {
    let doc = Doc::parse(content).ok()?;
    let root = doc.root();
    if is_parts(root) {
        let mut edits = Vec::new();
        for text in root.elements().filter_map(|part| part.get("text")) {
            if let Some(new) = text.as_str().and_then(&mut change) {
                edits.push((text.span(), quoted(new)));
            }
        }
        edits.sort_by_key(|(place, _): &(std::ops::Range<usize>, String)| place.start);
        return (!edits.is_empty()).then(|| spliced(content, &edits));
    }
    if let Some(text) = root.as_str() {
        return change(text).map(quoted);
    }
    change(root.raw()).map(|new| match new {
        New::Json(json) => json,
        New::Text(text) => quoted(New::Text(text)),
    })
}

fn is_parts(root: Node<'_>) -> bool {
    root.kind() == Kind::Array
        && !root.is_empty()
        && root.elements().all(|part| part.get_str("type").is_some())
        && root
            .elements()
            .any(|part| part.get_str("type") == Some("text") && part.get_str("text").is_some())
}

fn quoted(new: New) -> String {
    let (New::Json(text) | New::Text(text)) = new;
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(&text, &mut json);
    json
}

/// The text broken: cut in the middle, or with its end or a comma lost; never JSON.
#[must_use]
pub fn malformed(text: &str, chance: &mut Chance) -> New {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let whole = if is_json {
        text.to_owned()
    } else {
        let mut whole = String::from("{\"result\": ");
        push_json_string(text, &mut whole);
        whole + "}"
    };
    let length = whole.chars().count();
    let broken: String = match chance.below(3) {
        0 => whole.chars().take(length - 1).collect(),
        1 => whole.replacen(':', " ", 1),
        _ => {
            let share = 0.3 + 0.6 * unit(chance);
            whole.chars().take(part(length, share)).collect()
        }
    };
    if Doc::parse(&broken).is_ok() || broken == whole {
        return New::Text(whole.chars().take(length - 1).collect());
    }
    New::Text(broken)
}

/// The first `keep` of the text in characters, at least one less than it has; `None` if
/// nothing can be cut.
#[must_use]
pub fn truncated(text: &str, keep: f64) -> Option<New> {
    let length = text.chars().count();
    if length < 2 {
        return None;
    }
    let kept = part(length, keep).min(length - 1);
    Some(New::Text(text.chars().take(kept).collect()))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share in [0,1] of a length in memory"
)]
fn part(length: usize, share: f64) -> usize {
    (length as f64 * share) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_wraps_an_answer_stays() {
        let upper = |text: &str| Some(New::Text(text.to_uppercase()));
        let parts = r#"[{"type":"text","text":"a \"b\""}, {"type":"image","data":"x"}]"#;
        assert_eq!(
            rewritten(parts, upper).unwrap(),
            parts.replace(r#"a \"b\""#, r#"A \"B\""#)
        );
        assert_eq!(rewritten("\"abc\"", upper).unwrap(), "\"ABC\"");
        assert_eq!(
            rewritten("[1,{\"a\":2}]", upper).unwrap(),
            r#""[1,{\"A\":2}]""#
        );
        let json = |_: &str| Some(New::Json("[2]".into()));
        assert_eq!(rewritten("[1]", json).unwrap(), "[2]");
        assert_eq!(rewritten(parts, |_| None), None);
    }

    proptest! {
        #[test]
        fn broken_is_never_json(text in "\\PC{0,60}", json in "[\\[{]\"a\": ?[0-9]{1,3}[\\]}]", seed: u64) {
            for text in [text, json, r#"{"a":[1,2]}"#.into(), "12".into(), String::new()] {
                let mut chance = Chance::new(seed);
                let New::Text(broken) = malformed(&text, &mut chance) else { panic!() };
                prop_assert!(Doc::parse(&broken).is_err(), "{}", broken);
            }
        }

        #[test]
        fn cut_texts_are_beginnings(text in ".{0,60}", keep in 0.0f64..=1.0) {
            match truncated(&text, keep) {
                Some(New::Text(cut)) => prop_assert!(text.starts_with(&cut) && cut != text),
                other => prop_assert!(other.is_none() && text.chars().count() < 2),
            }
        }
    }
}
