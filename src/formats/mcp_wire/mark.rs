//! Lines of the recorder's own in a capture: what a run is called, how it ended,
//! and what is known of a line beside its bytes. Written and read here only.

use fidelake_core::json::{Node, push_json_string};
use fidelake_core::model::Arm;

/// What the recorder says at the beginning of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin<'d> {
    /// Names one recording, so that two recordings of equal traffic stay two.
    pub(crate) session: &'d str,
    pub(crate) environment: &'d str,
    pub(crate) arm: Arm,
    pub(crate) trajectory_id: &'d str,
    /// `stdio` or `http`.
    pub(crate) transport: &'d str,
}

/// One mark.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark<'d> {
    Begin(Begin<'d>),
    /// How the run ended.
    End(&'d str),
}

impl<'d> Mark<'d> {
    /// Reads a line; `None` if it is no mark.
    pub(crate) fn of(root: Node<'d>) -> Option<Self> {
        match root.get_str("mark")? {
            "begin" => Some(Self::Begin(Begin {
                session: root.get_str("session")?,
                environment: root.get_str("environment")?,
                arm: Arm::parse(root.get_str("arm")?)?,
                trajectory_id: root.get_str("trajectory_id")?,
                transport: root.get_str("transport").unwrap_or_default(),
            })),
            "end" => Some(Self::End(root.get_str("termination")?)),
            _ => None,
        }
    }

    /// The line, with its end.
    pub(crate) fn spell(&self, ts: &str) -> String {
        let mut line = String::from("{\"ts\":");
        push_json_string(ts, &mut line);
        let fields: &[(&str, &str)] = match self {
            Self::Begin(begin) => &[
                ("mark", "begin"),
                ("session", begin.session),
                ("environment", begin.environment),
                ("arm", begin.arm.as_str()),
                ("trajectory_id", begin.trajectory_id),
                ("transport", begin.transport),
            ],
            Self::End(termination) => &[("mark", "end"), ("termination", termination)],
        };
        for (key, value) in fields {
            push_field(key, value, &mut line);
        }
        line.push_str("}\n");
        line
    }
}

fn push_field(key: &str, value: &str, line: &mut String) {
    line.push(',');
    push_json_string(key, line);
    line.push(':');
    push_json_string(value, line);
}

/// What is known of a line beside its text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside<'d> {
    /// Bytes that are not UTF-8 stand as `\xNN`.
    pub(crate) invalid_utf8: bool,
    /// The stream ended without an end of line.
    pub(crate) unterminated: bool,
    /// Only the beginning of so many bytes is kept.
    pub(crate) cut_from: Option<u64>,
    /// So many lines that are no messages were left out here.
    pub(crate) left_out: Option<u64>,
    /// HTTP status, where it says more than 200.
    pub(crate) status: Option<u16>,
    /// JSON texts of the ids of the requests that this answers, told by HTTP.
    pub(crate) answers: &'d [String],
    /// There was no answer: the text says why.
    pub(crate) transport_error: bool,
}

/// A line of traffic, with its end.
pub(crate) fn spell(ts: &str, direction: &str, raw: &str, beside: &Beside<'_>) -> String {
    let mut line = String::with_capacity(raw.len() + raw.len() / 8 + 96);
    line.push_str("{\"ts\":");
    push_json_string(ts, &mut line);
    push_field("dir", direction, &mut line);
    push_field("raw", raw, &mut line);
    for (key, set) in [
        ("invalid_utf8", beside.invalid_utf8),
        ("unterminated", beside.unterminated),
        ("transport_error", beside.transport_error),
    ] {
        if set {
            line.push_str(&format!(",\"{key}\":true"));
        }
    }
    for (key, number) in [
        ("cut_from", beside.cut_from),
        ("left_out", beside.left_out),
        ("status", beside.status.map(u64::from)),
    ] {
        if let Some(number) = number {
            line.push_str(&format!(",\"{key}\":{number}"));
        }
    }
    if !beside.answers.is_empty() {
        line.push_str(",\"answers\":[");
        for (at, id) in beside.answers.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            line.push_str(id);
        }
        line.push(']');
    }
    line.push_str("}\n");
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use fidelake_core::json::Doc;

    #[test]
    fn marks_are_read_as_they_are_spelled() {
        let begin = Begin {
            session: "s1",
            environment: "air\"line",
            arm: Arm::Sim,
            trajectory_id: "a/1\n",
            transport: "stdio",
        };
        let line = Mark::Begin(begin).spell("2026-01-01T00:00:00Z");
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1);
        let doc = Doc::parse(line.trim()).unwrap();
        let Some(Mark::Begin(read)) = Mark::of(doc.root()) else {
            panic!("{line}");
        };
        assert_eq!(read.environment, "air\"line");
        assert_eq!(read.trajectory_id, "a/1\n");
        assert_eq!(read.arm, Arm::Sim);
        let line = Mark::End("client_closed").spell("t");
        let doc = Doc::parse(line.trim()).unwrap();
        assert!(matches!(
            Mark::of(doc.root()),
            Some(Mark::End("client_closed"))
        ));
    }

    #[test]
    fn a_line_says_what_is_known_beside_it() {
        let ids = ["1".to_owned(), "\"a\"".to_owned()];
        let beside = Beside {
            status: Some(502),
            answers: &ids,
            transport_error: true,
            ..Beside::default()
        };
        let line = spell("t", "s2c", "no\tway", &beside);
        let doc = Doc::parse(line.trim()).unwrap();
        let root = doc.root();
        assert_eq!(root.get_str("raw"), Some("no\tway"));
        assert_eq!(root.get("status").and_then(Node::as_i64), Some(502));
        let raws: Vec<_> = root
            .get("answers")
            .unwrap()
            .elements()
            .map(Node::raw)
            .collect();
        assert_eq!(raws, ["1", "\"a\""]);
    }
}
