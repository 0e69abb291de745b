//! One run as every format is read into it, borrowed from the record's text.

use std::borrow::Cow;

use fidelake_core::json::key::{Key, trajectory_key};
use fidelake_core::json::{Flags, Node};
use fidelake_core::model::{Arm, CallStatus};

use super::time::Time;

/// Text borrowed from the record where possible.
pub(crate) type Text<'d> = Cow<'d, str>;

/// One arm, one repeat of one trajectory.
#[derive(Clone, Debug)]
pub(crate) struct Run<'d> {
    pub(crate) environment: Text<'d>,
    pub(crate) trajectory_id: Text<'d>,
    pub(crate) arm: Arm,
    pub(crate) repeat: i32,
    /// Hash of the record in canonical form.
    pub(crate) content_hash: Key,
    pub(crate) environment_version: Option<Text<'d>>,
    pub(crate) origin: Option<Text<'d>>,
    pub(crate) policy: Option<Text<'d>>,
    pub(crate) task_id: Option<Text<'d>>,
    pub(crate) group_id: Option<Text<'d>>,
    pub(crate) task: Option<Text<'d>>,
    /// JSON list of {name, arguments}.
    pub(crate) gold: Option<Text<'d>>,
    /// The tools offered; `None` if not recorded.
    pub(crate) catalog: Option<Vec<Node<'d>>>,
    pub(crate) started_at: Option<Time<'d>>,
    pub(crate) ended_at: Option<Time<'d>>,
    pub(crate) termination: Option<Text<'d>>,
    /// JSON object.
    pub(crate) labels: Option<Text<'d>>,
    /// JSON object of keys that have no column.
    pub(crate) extra: Option<Text<'d>>,
    pub(crate) messages: Vec<Message<'d>>,
    pub(crate) calls: Vec<Call<'d>>,
    pub(crate) verdicts: Vec<Verdict<'d>>,
    pub(crate) flags: Flags,
}

/// One message of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Message<'d> {
    pub(crate) role: Text<'d>,
    pub(crate) content: Content<'d>,
    pub(crate) name: Option<Text<'d>>,
    /// (turn, index) of the calls it makes.
    pub(crate) calls: Vec<(i32, i32)>,
    /// (turn, index) of the call it answers.
    pub(crate) result_of: Option<(i32, i32)>,
    pub(crate) sent_at: Option<Time<'d>>,
    pub(crate) extra: Option<Text<'d>>,
}

/// Content as given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'d> {
    /// The key is absent.
    Absent,
    /// The text or value under the key, null included.
    Value(Node<'d>),
    /// It stands in the observation of the call that it answers.
    Observation,
}

impl<'d> Content<'d> {
    pub(crate) fn of(node: Option<Node<'d>>) -> Self {
        node.map_or(Self::Absent, Self::Value)
    }
}

/// One call, or a result that no call asked for.
#[derive(Clone, Debug)]
pub(crate) struct Call<'d> {
    pub(crate) turn: i32,
    pub(crate) index: i32,
    pub(crate) id: Option<Text<'d>>,
    pub(crate) name: Option<Text<'d>>,
    pub(crate) requestor: Option<Text<'d>>,
    /// Text of a string, JSON of anything else; `None` if absent.
    pub(crate) arguments: Option<Text<'d>>,
    pub(crate) started_at: Option<Time<'d>>,
    pub(crate) status: CallStatus,
    /// How the result was found.
    pub(crate) pairing: Option<&'static str>,
    pub(crate) result_order: Option<i32>,
    pub(crate) result: Option<Answer<'d>>,
    pub(crate) extra: Option<Text<'d>>,
}

impl<'d> Call<'d> {
    /// A call that nothing answered yet.
    pub(crate) fn unanswered(turn: i32, index: i32, name: Option<Text<'d>>) -> Self {
        Self {
            turn,
            index,
            id: None,
            name,
            requestor: None,
            arguments: None,
            started_at: None,
            status: CallStatus::NoResult,
            pairing: None,
            result_order: None,
            result: None,
            extra: None,
        }
    }
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer<'d> {
    pub(crate) content: Option<Node<'d>>,
    /// A structured answer given beside the content.
    pub(crate) structured: Option<Node<'d>>,
    pub(crate) is_error: Option<bool>,
    pub(crate) status: Option<i64>,
    pub(crate) rpc_code: Option<i64>,
    pub(crate) error_type: Option<Text<'d>>,
    pub(crate) latency_ms: Option<f64>,
    pub(crate) latency_source: Option<&'static str>,
    pub(crate) truncated: Option<bool>,
    pub(crate) state: Option<Node<'d>>,
    pub(crate) state_hash: Option<Text<'d>>,
    pub(crate) extra: Option<Text<'d>>,
}

/// What one judge said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict<'d> {
    pub(crate) judge: Text<'d>,
    pub(crate) agent: Text<'d>,
    pub(crate) reward: Option<f64>,
    pub(crate) success: Option<bool>,
    /// JSON object.
    pub(crate) criteria: Option<Text<'d>>,
    pub(crate) extra: Option<Text<'d>>,
}

/// What names a run, taken before masking so that masking changes no key.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) environment: String,
    pub(crate) trajectory_id: String,
    pub(crate) trajectory_key: i64,
    pub(crate) run_id: Key,
    pub(crate) content_hash: Key,
    /// Keys of its calls, where they cannot be taken from the rows.
    pub(crate) call_keys: Option<Vec<Key>>,
}

impl Identity {
    /// With the keys of the calls, for a run that is stored masked.
    pub(crate) fn with_call_keys(run: &Run<'_>) -> Self {
        Self {
            call_keys: Some(run.calls.iter().map(call_key).collect()),
            ..Self::of(run)
        }
    }

    pub(crate) fn of(run: &Run<'_>) -> Self {
        let repeat = run.repeat.to_string();
        let parts = [
            &*run.environment,
            &*run.trajectory_id,
            run.arm.as_str(),
            &repeat,
        ];
        Self {
            environment: run.environment.clone().into_owned(),
            trajectory_id: run.trajectory_id.clone().into_owned(),
            trajectory_key: trajectory_key(&run.environment, &run.trajectory_id),
            run_id: Key::of_parts(&parts),
            content_hash: run.content_hash,
            call_keys: None,
        }
    }
}

fn call_key(call: &Call<'_>) -> Key {
    let name = call.name.as_deref().unwrap_or_default();
    let raw = call.arguments.as_deref().unwrap_or_default();
    let (_, doc) = fidelake_core::model::argument_status(name, raw);
    fidelake_core::json::key::call_key(name, doc.as_ref().map(fidelake_core::json::Doc::root), raw)
}
