//! What a message is, as far as the recorder must know: whose run, whose answer.

use std::borrow::Cow;

use fidelake_core::json::{Doc, Kind, Node};

/// The key in `_meta` of a request with which a client names the trajectory of a call.
pub(super) const META_KEY: &str = "fidelake/trajectory";

/// Text of some bytes; those that are not UTF-8 become `\xNN` in a JSON string,
/// as they do on import. The flag says whether there were any.
pub(super) fn text(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), false);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\\\x{byte:02x}"));
        }
    }
    (Cow::Owned(text), true)
}

/// What a line holds. Ids are JSON texts: `1` and `"1"` differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// No JSON object or array.
    pub(super) noise: bool,
    /// A client begins anew.
    pub(super) initialize: bool,
    /// Belongs to what every run of the session should know: who the server is, which tools it has.
    pub(super) context: Option<Context>,
    /// Requests in it, with their ids.
    pub(super) requests: Vec<String>,
    /// Answers in it.
    pub(super) answers: Vec<String>,
    /// `tools/call` requests.
    pub(super) calls: u64,
    /// The name that the client gave to the trajectory of these calls.
    pub(super) trajectory: Option<String>,
}

/// What every run of a session should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// The opening of the session.
    Opening,
    /// The first page of the tools: what was known of them is out of date.
    Tools,
    /// A further page.
    MoreTools,
}

impl Seen {
    /// Looks at a line.
    pub(super) fn of(text: &str) -> Self {
        let Ok(doc) = Doc::parse(text) else {
            return Self {
                noise: true,
                ..Self::default()
            };
        };
        let mut seen = Self::default();
        let root = doc.root();
        match root.kind() {
            Kind::Object => seen.message(root),
            Kind::Array => root.elements().for_each(|node| seen.message(node)),
            _ => seen.noise = true,
        }
        seen
    }

    fn message(&mut self, node: Node<'_>) {
        let id = node.get_some("id").map(|id| id.raw().to_owned());
        let Some(method) = node.get_str("method") else {
            self.answers.extend(id);
            return;
        };
        let params = node.get_some("params");
        match method {
            "initialize" => {
                self.initialize = true;
                self.context = Some(Context::Opening);
            }
            "server/discover" | "notifications/initialized" => {
                self.context = Some(Context::Opening);
            }
            "tools/list" => {
                let further = params.and_then(|p| p.get_some("cursor")).is_some();
                self.context = Some(if further {
                    Context::MoreTools
                } else {
                    Context::Tools
                });
            }
            "tools/call" => {
                self.calls += 1;
                let named = params
                    .and_then(|p| p.get_some("_meta")?.get_str(META_KEY))
                    .filter(|name| !name.trim().is_empty());
                if let Some(name) = named {
                    self.trajectory.get_or_insert_with(|| name.to_owned());
                }
            }
            _ => {}
        }
        self.requests.extend(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_notifications_and_noise_are_told_apart() {
        let seen = Seen::of(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"fidelake/trajectory":"t/1"}}},
                {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}},
                {"jsonrpc":"2.0","id":"x","result":{}}]"#,
        );
        assert_eq!(seen.requests, ["1"]);
        assert_eq!(seen.answers, ["\"x\""]);
        assert_eq!(seen.calls, 1);
        assert_eq!(seen.trajectory.as_deref(), Some("t/1"));
        assert!(!seen.noise && !seen.initialize);
        assert!(Seen::of("Server listening").noise);
        assert!(Seen::of("17").noise);
        assert!(Seen::of("").noise);
    }

    #[test]
    fn bytes_that_are_no_text_stay_readable_json() {
        let (text, odd) = text(b"{\"a\":\"\xff\"}");
        assert!(odd);
        let doc = Doc::parse(&text).unwrap();
        assert_eq!(doc.root().get_str("a"), Some("\\xff"));
    }
}
