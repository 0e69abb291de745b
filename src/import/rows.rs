//! From a run to the rows of the tables.

use std::borrow::Cow;
use std::collections::HashMap;

use fidelake_core::json::key::{Key, call_key_of};
use fidelake_core::json::{
    Doc, Flags, Kind, Node, Structured, StructuredRule, canonical, structured_doc,
};
use fidelake_core::model::{Evidence, OutcomeRules, argument_status, truncation, truncation_mark};

use crate::formats::run::{Answer, Call, Content, Identity, Message, Run};
use crate::formats::time::Time;
use crate::lake::rows::Table;

/// What is the same for all rows of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'a> {
    pub(super) import_id: &'a str,
    pub(super) format: &'a str,
}

/// The tables whose rows belong to a run, under construction.
pub(super) struct Rows {
    pub(super) runs: Table,
    pub(super) messages: Table,
    pub(super) calls: Table,
    pub(super) observations: Table,
    pub(super) verdicts: Table,
    pub(super) catalogs: Table,
    /// Rows of each catalog in `catalogs`.
    pub(super) catalog_rows: HashMap<Key, std::ops::Range<usize>>,
    /// Hash of a catalog by the hash of its bytes: the same bytes come with every run.
    catalog_keys: HashMap<Key, Key>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            runs: Table::new("runs"),
            messages: Table::new("messages"),
            calls: Table::new("calls"),
            observations: Table::new("observations"),
            verdicts: Table::new("verdicts"),
            catalogs: Table::new("catalogs"),
            catalog_rows: HashMap::new(),
            catalog_keys: HashMap::new(),
        }
    }

    /// Appends all rows of a run; returns the hash of its catalog.
    pub(super) fn append(
        &mut self,
        run: &Run<'_>,
        identity: &Identity,
        rules: &OutcomeRules,
        stamp: Stamp<'_>,
        record: u64,
    ) -> Option<Key> {
        let catalog = run.catalog.as_deref().map(|tools| self.catalog(tools));
        let run_id = identity.run_id.to_string();
        let common = Common {
            identity,
            run_id: &run_id,
            arm: run.arm.as_str(),
            repeat: run.repeat,
        };
        let mut flags = run.flags;
        for time in [&run.started_at, &run.ended_at].into_iter().flatten() {
            flags |= zone_flag(time);
        }
        let row = &mut self.runs;
        row.text(&identity.environment)
            .text(&identity.trajectory_id)
            .int64(identity.trajectory_key)
            .text(&run_id)
            .text(common.arm)
            .int32(Some(run.repeat))
            .text(&identity.content_hash.to_string())
            .opt_text(run.environment_version.as_deref())
            .opt_text(run.origin.as_deref())
            .opt_text(run.policy.as_deref())
            .opt_text(run.task_id.as_deref())
            .opt_text(run.group_id.as_deref())
            .opt_text(run.task.as_deref())
            .opt_text(run.gold.as_deref())
            .opt_text(catalog.map(|c| c.to_string()).as_deref())
            .time(run.started_at.as_ref().and_then(|t| t.micros))
            .time(run.ended_at.as_ref().and_then(|t| t.micros))
            .opt_text(run.started_at.as_ref().map(|t| &*t.raw))
            .opt_text(run.ended_at.as_ref().map(|t| &*t.raw))
            .opt_text(run.termination.as_deref())
            .int32(i32::try_from(run.calls.len()).ok())
            .int32(i32::try_from(run.messages.len()).ok())
            .opt_text(run.labels.as_deref())
            .opt_text(run.extra.as_deref())
            .texts(flags.names())
            .text(stamp.format)
            .text(stamp.import_id)
            .int64(i64::try_from(record).unwrap_or(i64::MAX))
            .end_row();
        for (position, message) in run.messages.iter().enumerate() {
            self.message(&common, position, message);
        }
        for (at, call) in run.calls.iter().enumerate() {
            // Keys of a masked run were taken before masking.
            let key = identity
                .call_keys
                .as_ref()
                .and_then(|keys| keys.get(at).copied());
            self.call(&common, call, key);
            if let Some(answer) = &call.result {
                self.observation(&common, call, answer, rules);
            }
        }
        self.verdict_rows(&common, run);
        catalog
    }

    fn message(&mut self, common: &Common<'_>, position: usize, message: &Message<'_>) {
        let (content, kind) = match message.content {
            Content::Absent => (None, "absent"),
            Content::Observation => (None, "observation"),
            Content::Value(node) => match node.kind() {
                Kind::Null => (None, "null"),
                Kind::String => (node.as_str(), "text"),
                _ => (Some(node.raw()), "json"),
            },
        };
        let row = &mut self.messages;
        row.text(&common.identity.environment)
            .text(&common.identity.trajectory_id)
            .int64(common.identity.trajectory_key)
            .text(common.run_id)
            .int32(i32::try_from(position).ok())
            .text(&message.role)
            .opt_text(content)
            .text(kind)
            .opt_text(message.name.as_deref())
            .places(&message.calls)
            .int32(message.result_of.map(|place| place.0))
            .int32(message.result_of.map(|place| place.1))
            .time(message.sent_at.as_ref().and_then(|t| t.micros))
            .opt_text(message.sent_at.as_ref().map(|t| &*t.raw))
            .opt_text(message.extra.as_deref())
            .end_row();
    }

    fn call(&mut self, common: &Common<'_>, call: &Call<'_>, key: Option<Key>) {
        let name = call.name.as_deref().unwrap_or_default();
        let raw = call.arguments.as_deref().unwrap_or_default();
        let (status, doc) = argument_status(name, raw);
        let object = doc.as_ref().filter(|doc| doc.root().kind() == Kind::Object);
        let form = object.map(|doc| canonical(doc.root()));
        let mut flags = doc
            .as_ref()
            .map_or(Flags::NONE, fidelake_core::json::Doc::flags);
        if let Some((_, odd)) = &form {
            flags |= *odd;
        }
        if let Some(time) = &call.started_at {
            flags |= zone_flag(time);
        }
        let key = key.unwrap_or_else(|| {
            call_key_of(name, form.as_ref().map(|(text, _)| text.as_str()), raw)
        });
        let row = &mut self.calls;
        common
            .start(row)
            .int32(Some(call.turn))
            .int32(Some(call.index))
            .opt_text(call.id.as_deref())
            .opt_text(call.name.as_deref())
            .opt_text(call.requestor.as_deref())
            .opt_text(call.arguments.as_deref())
            .opt_text(form.as_ref().map(|(text, _)| text.as_str()))
            .text(status.as_str())
            .text(&key.to_string())
            .text(call.status.as_str())
            .opt_text(call.pairing)
            .int32(call.result_order)
            .time(call.started_at.as_ref().and_then(|t| t.micros))
            .opt_text(call.started_at.as_ref().map(|t| &*t.raw))
            .texts(flags.names())
            .opt_text(call.extra.as_deref())
            .end_row();
    }

    fn observation(
        &mut self,
        common: &Common<'_>,
        call: &Call<'_>,
        answer: &Answer<'_>,
        rules: &OutcomeRules,
    ) {
        let content = read_content(answer);
        let structured_doc = content.structured.as_ref().map(|s| s.canonical.as_str());
        let derived = rules.derive(&Evidence {
            environment: &common.identity.environment,
            is_error: answer.is_error,
            status: answer.status,
            rpc_code: answer.rpc_code,
            error_type: answer.error_type.as_deref(),
            text: &content.said,
            structured: content.doc.as_ref().map(Doc::root),
        });
        // A text that spells a whole value was not cut inside it.
        let found = match &content.doc {
            Some(_) => truncation_mark(&content.said),
            None => truncation(&content.said),
        };
        let (truncated, truncated_rule) = match (answer.truncated, found) {
            (Some(given), None) => (Some(given), Some("given")),
            // `truncated: false` beside a cut text occurs: the rule is believed, the flag is kept in its name.
            (Some(true), Some(_)) => (Some(true), Some("given")),
            (_, Some(rule)) => (Some(true), Some(rule)),
            (None, None) => (None, None),
        };
        let hash = structured_doc
            .or(content.text.as_deref())
            .map(|text| Key::of(text.as_bytes()));
        let mut flags = content.flags;
        if let Some(found) = &content.structured {
            flags |= found.flags;
        }
        let state = answer.state.map(canonical);
        let row = &mut self.observations;
        common
            .start(row)
            .int32(Some(call.turn))
            .int32(Some(call.index))
            .opt_text(content.text.as_deref())
            .text(content.kind)
            .opt_text(answer.structured.map(Node::raw))
            .opt_text(structured_doc)
            .opt_text(content.rule)
            .opt_text(hash.map(|h| h.to_string()).as_deref())
            .boolean(answer.is_error)
            .int32(answer.status.and_then(|s| i32::try_from(s).ok()))
            .int32(answer.rpc_code.and_then(|s| i32::try_from(s).ok()))
            .opt_text(answer.error_type.as_deref())
            .text(derived.outcome.as_str())
            .text(&derived.rule)
            .float64(answer.latency_ms)
            .opt_text(answer.latency_source)
            .boolean(truncated)
            .opt_text(truncated_rule)
            .opt_text(state.as_ref().map(|(text, _)| text.as_str()))
            .opt_text(answer.state_hash.as_deref())
            .texts(flags.names())
            .opt_text(answer.extra.as_deref())
            .end_row();
    }

    fn verdict_rows(&mut self, common: &Common<'_>, run: &Run<'_>) {
        let mut seen: HashMap<(&str, &str), i32> = HashMap::new();
        for verdict in &run.verdicts {
            let ordinal = seen.entry((&verdict.judge, &verdict.agent)).or_insert(0);
            let row = &mut self.verdicts;
            common
                .start(row)
                .text(&verdict.judge)
                .text(&verdict.agent)
                .int32(Some(*ordinal))
                .float64(verdict.reward)
                .boolean(verdict.success)
                .opt_text(verdict.criteria.as_deref())
                .opt_text(verdict.extra.as_deref())
                .end_row();
            *ordinal += 1;
        }
    }

    /// Appends a catalog once; returns its hash.
    fn catalog(&mut self, tools: &[Node<'_>]) -> Key {
        let raw: Vec<&str> = tools.iter().map(|tool| tool.raw()).collect();
        let bytes = Key::of_parts(&raw);
        if let Some(key) = self.catalog_keys.get(&bytes) {
            return *key;
        }
        let forms: Vec<String> = tools.iter().map(|tool| canonical(*tool).0).collect();
        let parts: Vec<&str> = forms.iter().map(String::as_str).collect();
        let key = Key::of_parts(&parts);
        self.catalog_keys.insert(bytes, key);
        if self.catalog_rows.contains_key(&key) {
            return key;
        }
        let first = self.catalogs.rows();
        let hash = key.to_string();
        let row = &mut self.catalogs;
        if tools.is_empty() {
            // No tools were offered, which is not the same as not recorded.
            row.text(&hash).int32(Some(-1));
            for _ in 0..6 {
                row.opt_text(None);
            }
            row.end_row();
        }
        for (index, (tool, form)) in tools.iter().zip(&forms).enumerate() {
            // {"type": "function", "function": {...}} or the fields themselves.
            let inner = tool
                .get_some("function")
                .filter(|f| f.kind() == Kind::Object)
                .unwrap_or(*tool);
            let parameters = ["parameters", "inputSchema", "input_schema", "arguments"]
                .iter()
                .find_map(|key| Some((*key, inner.get_some(key)?)));
            row.text(&hash)
                .int32(i32::try_from(index).ok())
                .text(&Key::of(form.as_bytes()).to_string())
                .opt_text(inner.get_str("name"))
                .opt_text(inner.get_str("description"))
                .opt_text(parameters.map(|(_, p)| canonical(p).0).as_deref())
                .opt_text(parameters.map(|(key, _)| key))
                .text(tool.raw())
                .end_row();
        }
        self.catalog_rows.insert(key, first..self.catalogs.rows());
        key
    }
}

/// The columns with which most tables begin.
struct Common<'a> {
    identity: &'a Identity,
    run_id: &'a str,
    arm: &'static str,
    repeat: i32,
}

impl Common<'_> {
    fn start<'t>(&self, row: &'t mut Table) -> &'t mut Table {
        row.text(&self.identity.environment)
            .text(&self.identity.trajectory_id)
            .int64(self.identity.trajectory_key)
            .text(self.run_id)
            .text(self.arm)
            .int32(Some(self.repeat))
    }
}

fn zone_flag(time: &Time<'_>) -> Flags {
    if time.zone_unknown {
        Flags::ZONE_UNKNOWN
    } else {
        Flags::NONE
    }
}

/// What an answer says, in the forms that the tables keep.
struct Said<'d> {
    text: Option<Cow<'d, str>>,
    kind: &'static str,
    /// The words of the answer, for rules that read.
    said: Cow<'d, str>,
    /// The value that the text spells.
    doc: Option<Doc<'d>>,
    structured: Option<Structured>,
    rule: Option<&'static str>,
    flags: Flags,
}

fn read_content<'d>(answer: &Answer<'d>) -> Said<'d> {
    let mut said = match answer.content {
        None => plain(None, "absent", ""),
        Some(node) => match node.kind() {
            Kind::Null => plain(None, "null", ""),
            Kind::String => from_text(
                node,
                node.as_str().unwrap_or_default(),
                "text",
                ["json", "python_repr"],
            ),
            Kind::Array if is_parts(node) => from_parts(node),
            _ => {
                let words = node.get_str("message").unwrap_or_else(|| node.raw());
                let mut said = plain(Some(node.raw()), "json", words);
                said.structured = Some(Structured::of(node, StructuredRule::Json));
                said.rule = Some("given_json");
                said
            }
        },
    };
    if let Some(given) = answer.structured {
        said.structured = Some(Structured::of(given, StructuredRule::Json));
        said.rule = Some("structured_content");
    }
    said
}

fn plain<'d>(text: Option<&'d str>, kind: &'static str, said: &'d str) -> Said<'d> {
    Said {
        text: text.map(Cow::Borrowed),
        kind,
        said: Cow::Borrowed(said),
        doc: None,
        structured: None,
        rule: None,
        flags: Flags::NONE,
    }
}

fn from_text<'d>(
    node: Node<'d>,
    text: &'d str,
    kind: &'static str,
    names: [&'static str; 2],
) -> Said<'d> {
    let mut said = plain(Some(text), kind, text);
    if node.has_lone_surrogate() {
        said.flags |= Flags::LONE_SURROGATE;
    }
    if let Some((doc, rule)) = structured_doc(text) {
        said.rule = Some(names[usize::from(rule == StructuredRule::PythonRepr)]);
        said.structured = Some(Structured::of(doc.root(), rule));
        said.doc = Some(doc);
    }
    said
}

/// A list of content parts: objects with a `type`.
fn is_parts(node: Node<'_>) -> bool {
    !node.is_empty() && node.elements().all(|part| part.get_str("type").is_some())
}

fn from_parts(node: Node<'_>) -> Said<'_> {
    let texts: Vec<&str> = node
        .elements()
        .filter_map(|part| part.get_str("text"))
        .collect();
    let only = node
        .elements()
        .next()
        .filter(|part| node.len() == 1 && part.len() == 2);
    if let Some(part) = only
        && let Some(text) = part.get("text")
        && let Some(words) = text.as_str()
    {
        // One text and nothing else: the list around it says nothing.
        return from_text(text, words, "text_part", ["part_json", "part_python_repr"]);
    }
    Said {
        text: Some(Cow::Borrowed(node.raw())),
        kind: "parts",
        said: Cow::Owned(texts.join("\n")),
        doc: None,
        structured: Some(Structured::of(node, StructuredRule::Json)),
        rule: Some("parts"),
        flags: Flags::NONE,
    }
}
