//! Masks on what is written, by the rules of an import (docs/recipe.md,
//! `[privacy]`): a lake may hold what shards must not.

use std::collections::BTreeMap;

use fidelake_core::json::{Doc, push_json_string};
use fidelake_core::mask::{Mode, mask_record};

use super::message::{Chat, Content, Message};

/// How often each rule masked something.
pub(super) type MaskCounts = BTreeMap<String, u64>;

/// Masks a JSON text.
pub(super) fn mask_json(json: &str, mode: Mode, counts: &mut MaskCounts) -> Option<String> {
    if mode == Mode::Off {
        return None;
    }
    let doc = Doc::parse(json).ok()?;
    let masked = mask_record(&doc, mode)?;
    for (rule, times) in masked.counts {
        *counts.entry(rule.to_owned()).or_default() += times as u64;
    }
    Some(masked.text)
}

/// Masks any text: as a JSON string it is seen by the same rules.
fn mask_text(text: &mut String, mode: Mode, counts: &mut MaskCounts) {
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(text, &mut json);
    if let Some(masked) = mask_json(&json, mode, counts)
        && let Ok(doc) = Doc::parse(&masked)
        && let Some(clean) = doc.root().as_str()
    {
        *text = clean.to_owned();
    }
}

/// Masks a conversation.
pub(super) fn mask_chat(chat: &mut Chat, mode: Mode, counts: &mut MaskCounts) {
    if mode == Mode::Off {
        return;
    }
    for message in chat.messages.iter_mut().chain(&mut chat.task) {
        mask_message(message, mode, counts);
    }
}

fn mask_message(message: &mut Message, mode: Mode, counts: &mut MaskCounts) {
    match &mut message.content {
        Content::Null => {}
        Content::Text(text) => mask_text(text, mode, counts),
        Content::Parts(json) => {
            if let Some(masked) = mask_json(json, mode, counts) {
                *json = masked;
            }
        }
    }
    for call in &mut message.calls {
        // An object is masked by its keys; anything else as a text.
        match mask_json(&call.arguments, mode, counts) {
            Some(masked) => call.arguments = masked,
            None if Doc::parse(&call.arguments).is_err() => {
                mask_text(&mut call.arguments, mode, counts);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::ToolCall;
    use super::*;

    #[test]
    fn texts_parts_and_arguments_are_masked_and_counted() {
        let mut chat = Chat {
            messages: vec![
                Message::user("write to ann@example.org"),
                Message {
                    content: Content::Parts(
                        r#"[{"type":"text","text":"key sk-abcdefghijklmnopqrstuvwx123456"}]"#
                            .into(),
                    ),
                    calls: vec![ToolCall {
                        arguments: r#"{"password": "hunter2", "n": 1.50}"#.into(),
                        ..ToolCall::default()
                    }],
                    ..Message::default()
                },
            ],
            before: 1,
            task: None,
        };
        let mut secrets = chat.clone();
        let mut counts = MaskCounts::new();
        mask_chat(&mut secrets, Mode::Secrets, &mut counts);
        assert_eq!(secrets.messages[0], chat.messages[0]);
        assert_eq!(
            secrets.messages[1].calls[0].arguments,
            r#"{"password": "<masked:password>", "n": 1.50}"#
        );
        assert_eq!(counts["password"], 1);
        counts.clear();
        mask_chat(&mut chat, Mode::All, &mut counts);
        assert_eq!(chat.messages[0], Message::user("write to <masked:email>"));
        assert_eq!(counts["email"], 1);
        let before = chat.clone();
        mask_chat(&mut chat, Mode::All, &mut counts);
        assert_eq!(chat, before, "masking again changes nothing");
    }
}
