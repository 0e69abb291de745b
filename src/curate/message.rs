//! Messages of a conversation, and their JSON.

use fidelake_core::json::push_json_string;

use super::json::separate;

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) name: Option<String>,
    pub(super) content: Content,
    pub(super) calls: Vec<ToolCall>,
    /// The id of the call that this message answers.
    pub(super) answers: Option<String>,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing: a message that only makes calls.
    #[default]
    Null,
    Text(String),
    /// A list of content parts, as JSON.
    Parts(String),
}

/// A call that a message makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolCall {
    /// Turn and index of the lake.
    pub(super) place: (i32, i32),
    pub(super) id: String,
    pub(super) name: String,
    /// JSON of an object; anything else stands as the agent wrote it.
    pub(super) arguments: String,
}

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chat {
    pub(super) messages: Vec<Message>,
    /// So many messages stand before the first of the assistant.
    pub(super) before: usize,
    /// The task as a message, where no message stands before the assistant's first.
    pub(super) task: Option<Message>,
}

impl Chat {
    /// The messages before the first of the assistant, or the task as one message.
    pub(super) fn prompt(&self) -> &[Message] {
        match &self.task {
            Some(task) if self.before == 0 => std::slice::from_ref(task),
            _ => self.messages.get(..self.before).unwrap_or_default(),
        }
    }

    /// Every call, in the order in which the messages make them.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.messages.iter().flat_map(|message| &message.calls)
    }
}

impl Message {
    pub(super) fn user(text: &str) -> Self {
        Self {
            role: "user".into(),
            content: Content::Text(text.into()),
            ..Self::default()
        }
    }

    /// In the OpenAI chat form.
    pub(super) fn push_json(&self, out: &mut String) {
        out.push_str("{\"role\":");
        push_json_string(&self.role, out);
        if let Some(id) = &self.answers {
            out.push_str(",\"tool_call_id\":");
            push_json_string(id, out);
        }
        if let Some(name) = &self.name {
            out.push_str(",\"name\":");
            push_json_string(name, out);
        }
        out.push_str(",\"content\":");
        match &self.content {
            Content::Null => out.push_str("null"),
            Content::Text(text) => push_json_string(text, out),
            Content::Parts(json) => out.push_str(json),
        }
        if !self.calls.is_empty() {
            out.push_str(",\"tool_calls\":[");
            let mut first = true;
            for call in &self.calls {
                separate(out, &mut first);
                call.push_json(out);
            }
            out.push(']');
        }
        out.push('}');
    }

    /// What it says as one text; `None` if it says nothing. Schemas with one
    /// type per column have no place for a list of parts.
    pub(super) fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.content {
            Content::Null => None,
            Content::Text(text) => Some(text.into()),
            Content::Parts(json) => Some(
                super::json::joined(json)
                    .map_or_else(|| json.as_str().into(), std::convert::Into::into),
            ),
        }
    }

    /// Bytes of its texts.
    pub(super) fn size(&self) -> usize {
        let content = match &self.content {
            Content::Null => 0,
            Content::Text(text) | Content::Parts(text) => text.len(),
        };
        let calls = self.calls.iter();
        content
            + calls
                .map(|c| c.name.len() + c.arguments.len())
                .sum::<usize>()
    }
}

impl ToolCall {
    fn push_json(&self, out: &mut String) {
        out.push_str("{\"id\":");
        push_json_string(&self.id, out);
        out.push_str(",\"type\":\"function\",\"function\":{\"name\":");
        push_json_string(&self.name, out);
        out.push_str(",\"arguments\":");
        push_json_string(&self.arguments, out);
        out.push_str("}}");
    }
}

/// A list of messages in the OpenAI chat form.
pub(super) fn json_of(messages: &[Message]) -> String {
    let mut out = String::from("[");
    let mut first = true;
    for message in messages {
        separate(&mut out, &mut first);
        message.push_json(&mut out);
    }
    out.push(']');
    out
}
