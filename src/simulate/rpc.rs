//! JSON-RPC as MCP speaks it: one message in, at most one out.

use std::fmt::Write as _;

use fidelake_core::json::{Doc, Kind, Node, push_json_string};

use super::reply::Reply;

/// Revisions with a handshake, the newest last.
pub(super) const WITH_HANDSHAKE: [&str; 4] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision without sessions.
pub(super) const STATELESS: &str = "2026-07-28";

/// Deepest nesting of a message: what compares values is made for answers, not for attacks.
const MAX_DEPTH: usize = 512;

pub(super) const PARSE: i32 = -32700;
pub(super) const INVALID: i32 = -32600;
pub(super) const NO_METHOD: i32 = -32601;
pub(super) const PARAMS: i32 = -32602;
const VERSION: i32 = -32022;

/// A message that was understood.
#[derive(Debug)]
pub(super) struct Message {
    /// As it is spelled; `None` for a notification.
    pub(super) id: Option<String>,
    /// `None`: a response, which nobody asked for.
    pub(super) method: Option<String>,
    pub(super) call: Option<Call>,
    /// The revision that a request without a session names.
    pub(super) revision: Option<String>,
    /// What `initialize` asks for.
    wanted: Option<String>,
    cursor: bool,
}

/// `tools/call`
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// JSON text, as it is spelled.
    pub(super) arguments: String,
}

/// Whether no more than [`MAX_DEPTH`] brackets are open at once, those in strings not counted.
fn is_shallow(text: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    text.bytes().all(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth <= MAX_DEPTH
    })
}

/// Whether a revision of MCP is spoken here.
pub(super) fn is_revision(name: &str) -> bool {
    name == STATELESS || WITH_HANDSHAKE.contains(&name)
}

/// Why a message is refused: code, text, and its id if it has one.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) id: Option<String>,
    pub(super) code: i32,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn json(&self) -> String {
        error(self.id.as_deref(), self.code, &self.why, None)
    }
}

impl Message {
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |id: Option<&str>, code, why: &str| {
            Err(Refusal {
                id: id.map(str::to_owned),
                code,
                why: why.to_owned(),
            })
        };
        if !is_shallow(text) {
            let why = format!("this is nested deeper than {MAX_DEPTH} brackets");
            return refuse(None, INVALID, &why);
        }
        let doc = match Doc::parse(text) {
            Ok(doc) => doc,
            Err(error) => return refuse(None, PARSE, &format!("this is no JSON: {error}")),
        };
        let root = doc.root();
        if root.kind() == Kind::Array {
            return refuse(None, INVALID, "send one message at a time, not a batch");
        }
        let id = match root.get("id") {
            None => None,
            Some(id) if matches!(id.kind(), Kind::String | Kind::Number) => Some(id.raw()),
            Some(_) => return refuse(None, INVALID, "id: give a string or a number"),
        };
        if root.kind() != Kind::Object || root.get_str("jsonrpc") != Some("2.0") {
            return refuse(id, INVALID, "this is no JSON-RPC 2.0 message");
        }
        let method = root.get_str("method").map(str::to_owned);
        let answers = root.get("result").is_some() || root.get("error").is_some();
        if method.is_none() && !answers {
            return refuse(id, INVALID, "method: give the name of one");
        }
        let params = root.get_some("params");
        if params.is_some_and(|params| params.kind() != Kind::Object) {
            return refuse(id, PARAMS, "params: give an object");
        }
        let call = match method.as_deref() {
            Some("tools/call") => match call(params) {
                Ok(call) => Some(call),
                Err(why) => return refuse(id, PARAMS, why),
            },
            _ => None,
        };
        let text = |key: &str| params?.get_str(key).map(str::to_owned);
        let meta = params.and_then(|params| params.get("_meta"));
        let revision =
            meta.and_then(|meta| meta.get_str("io.modelcontextprotocol/protocolVersion"));
        Ok(Self {
            id: id.map(str::to_owned),
            call,
            revision: revision.map(str::to_owned),
            wanted: text("protocolVersion"),
            cursor: params
                .and_then(|params| params.get_some("cursor"))
                .is_some(),
            method,
        })
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_request(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Whether it belongs to the revision without sessions. That revision names itself
    /// in every request.
    pub(super) fn is_stateless(&self) -> bool {
        self.revision.as_deref().is_some_and(|r| r >= STATELESS) || self.is("server/discover")
    }

    /// An error if it names a revision that is not spoken here.
    pub(super) fn refused_revision(&self) -> Option<String> {
        let revision = self.revision.as_deref()?;
        let spoken = WITH_HANDSHAKE.contains(&revision) || revision == STATELESS;
        (!spoken).then(|| {
            let mut data = String::from("{\"requested\":");
            push_json_string(revision, &mut data);
            let _ = write!(data, ",\"supported\":{}}}", revisions());
            let why = "Unsupported protocol version";
            error(self.id.as_deref(), VERSION, why, Some(&data))
        })
    }

    /// A response with the members of its result.
    pub(super) fn result(&self, members: &str) -> String {
        let kind = match self.is_stateless() {
            true if members.is_empty() => "\"resultType\":\"complete\"",
            true => "\"resultType\":\"complete\",",
            false => "",
        };
        let id = self.id.as_deref().unwrap_or("null");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{kind}{members}}}}}")
    }

    pub(super) fn error(&self, code: i32, why: &str) -> String {
        error(self.id.as_deref(), code, why, None)
    }

    pub(super) fn called(&self, reply: &Reply) -> String {
        match reply {
            Reply::Result(members) => self.result(members),
            Reply::Error(object) => {
                let id = self.id.as_deref().unwrap_or("null");
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{object}}}")
            }
        }
    }

    /// `initialize`: the revision that is asked for, or the newest one.
    pub(super) fn welcome(&self, environment: &str, lake_version: i64) -> String {
        let wanted = self.wanted.as_deref().unwrap_or_default();
        let agreed = WITH_HANDSHAKE.iter().find(|one| **one == wanted);
        let agreed = agreed.unwrap_or(&WITH_HANDSHAKE[WITH_HANDSHAKE.len() - 1]);
        let mut members = format!(
            "\"protocolVersion\":\"{agreed}\",\"capabilities\":{{\"tools\":{{}}}},\"serverInfo\":{},\"instructions\":",
            server()
        );
        push_json_string(&instructions(environment, lake_version), &mut members);
        self.result(&members)
    }

    /// `server/discover`
    pub(super) fn discovered(&self, environment: &str, lake_version: i64) -> String {
        let mut members = format!(
            "\"supportedVersions\":{},\"capabilities\":{{\"tools\":{{}}}},\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{}}},\"instructions\":",
            revisions(),
            server()
        );
        push_json_string(&instructions(environment, lake_version), &mut members);
        self.result(&members)
    }

    /// `tools/list`, in one page.
    pub(super) fn listed(&self, tools: &str) -> String {
        if self.cursor {
            return self.error(PARAMS, "cursor: this list has one page");
        }
        let cache = match self.is_stateless() {
            true => ",\"ttlMs\":0,\"cacheScope\":\"private\"",
            false => "",
        };
        self.result(&format!("\"tools\":{tools}{cache}"))
    }

    /// What is answered where no state is needed; `None` for calls and lists.
    pub(super) fn plain(&self, environment: &str, lake_version: i64) -> Option<String> {
        if let Some(refused) = self.refused_revision() {
            return Some(refused);
        }
        match self.method.as_deref() {
            Some("initialize") => Some(self.welcome(environment, lake_version)),
            Some("server/discover") => Some(self.discovered(environment, lake_version)),
            Some("ping") if !self.is_stateless() => Some(self.result("")),
            Some("tools/list" | "tools/call") => None,
            Some(other) => {
                let why =
                    format!("{other} is not known here: a simulator has tools, and nothing else");
                Some(self.error(NO_METHOD, &why))
            }
            None => None,
        }
    }
}

fn call(params: Option<Node<'_>>) -> Result<Call, &'static str> {
    let name = params.and_then(|params| params.get_str("name"));
    let name = name.ok_or("name: give the name of a tool")?;
    let arguments = match params.and_then(|params| params.get_some("arguments")) {
        None => "{}",
        Some(given) if given.kind() == Kind::Object => given.raw(),
        Some(_) => return Err("arguments: give an object"),
    };
    Ok(Call {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

pub(super) fn error(id: Option<&str>, code: i32, why: &str, data: Option<&str>) -> String {
    let id = id.unwrap_or("null");
    let mut json =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":");
    push_json_string(why, &mut json);
    if let Some(data) = data {
        let _ = write!(json, ",\"data\":{data}");
    }
    json + "}}"
}

fn revisions() -> String {
    let all = WITH_HANDSHAKE.iter().chain([&STATELESS]);
    let all: Vec<String> = all.map(|one| format!("\"{one}\"")).collect();
    format!("[{}]", all.join(","))
}

fn server() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{{\"name\":\"fidelake-simulate\",\"version\":\"{version}\"}}")
}

fn instructions(environment: &str, lake_version: i64) -> String {
    format!(
        "A simulation of {environment}: answers are recordings of lake version {lake_version}, and nothing happens for real."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i32, String) {
        let refusal = Message::parse(text).unwrap_err();
        (refusal.code, refusal.json())
    }

    #[test]
    fn deep_messages_are_refused_before_they_are_read() {
        let deep = |depth: usize| {
            let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{value},"b":"\"[[["}}}}"#
            )
        };
        assert!(Message::parse(&deep(500)).is_ok());
        let refused = Message::parse(&deep(1_000_000)).unwrap_err();
        assert_eq!(refused.code, INVALID);
        let quoted = format!(r#""{}\"""#, "[".repeat(5_000));
        assert!(is_shallow(&quoted) && !is_shallow(&"[{".repeat(5_000)));
    }

    #[test]
    fn what_is_no_message_is_told_so() {
        for (text, code, said) in [
            ("{", PARSE, "no JSON"),
            ("[]", INVALID, "batch"),
            ("7", INVALID, "no JSON-RPC"),
            (r#"{"id":1,"method":"ping"}"#, INVALID, "no JSON-RPC"),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                INVALID,
                "id:",
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID, "method:"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#,
                PARAMS,
                "params:",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
                PARAMS,
                "name:",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}"#,
                PARAMS,
                "arguments:",
            ),
        ] {
            let (found, json) = refused(text);
            assert_eq!(found, code, "{text}");
            assert!(json.contains(said), "{json}");
            let value: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value["error"]["code"], code);
        }
    }

    #[test]
    fn ids_and_arguments_keep_their_spelling() {
        let text = r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"t","arguments":{"n": 1.10}}}"#;
        let message = Message::parse(text).unwrap();
        let call = message.call.as_ref().unwrap();
        assert_eq!((&*call.name, &*call.arguments), ("t", r#"{"n": 1.10}"#));
        let reply = message.called(&Reply::Result("\"content\":[]".into()));
        assert_eq!(
            reply,
            r#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}"#
        );
        assert!(!message.is_stateless());
    }

    #[test]
    fn revisions_are_agreed_on() {
        let hello = |wanted: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{wanted}"}}}}"#
            );
            let answer = Message::parse(&text).unwrap().plain("e", 3).unwrap();
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            answer["result"]["protocolVersion"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(hello("2025-06-18"), "2025-06-18");
        assert_eq!(hello("1999-01-01"), "2025-11-25");
        let ask = |revision: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}"}}}}}}"#
            );
            Message::parse(&text).unwrap()
        };
        assert!(ask("2030-01-01").plain("e", 3).unwrap().contains("-32022"));
        assert!(ask(STATELESS).plain("e", 3).is_none());
        let listed = ask(STATELESS).listed("[]");
        assert!(listed.contains("\"resultType\":\"complete\"") && listed.contains("ttlMs"));
    }
}
