//! What happens when a run makes the same call again
//! (docs/measures.md, "Transition": idempotency, read-after-write).
//!
//! Two calls are identical if their `call_key` is: same tool, same arguments.
//! Each call is compared with the *last* earlier identical call only. Calls of
//! one turn are parallel and have no order: neither comes before the other.
//!
//! **What counts as a write.** Between two identical calls, another call *may*
//! have changed something unless it is declared a read (`mutates: Some(false)`),
//! whatever came of it. It *has* written only if declared (`Some(true)`) and
//! `ok`. Where nothing is declared, idempotency is therefore measured for calls
//! repeated at once and read-after-write not at all: unknown, rather than wrong.
//!
//! * **Idempotency** is measured if nothing between may have changed anything.
//!   Otherwise a change is to be expected, and the next measure's business.
//! * **Read-after-write** is measured for a call that is not declared a write, if
//!   something has written between it and its predecessor. `visible`: outcome or
//!   answer changed. What the write touched is not known, so reads of something
//!   else are `not_visible` too, in both arms. Calls whose answer did not come
//!   from the state ([`says_nothing`]) are passed over, as if never made.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::Outcome;

/// What is known of one call of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RepeatCall<'a> {
    /// The bits of its `call_key`; it names the tool, too.
    pub key: u128,
    /// Ordinal of the message that makes the call; must not fall along the run.
    pub turn: i32,
    /// Whether the tool may change something, where declared.
    pub mutates: Option<bool>,
    /// Outcome class.
    pub outcome: &'a str,
    /// Hash of the canonical answer, where kept. Leave out of it what is new each
    /// time (ids, times), or every repeat has another answer.
    pub answer: Option<u64>,
    /// Start, in milliseconds of any clock of the run.
    pub started_ms: Option<f64>,
    /// Time taken, in milliseconds.
    pub latency_ms: Option<f64>,
}

/// How a repeat went, against the call that it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Idempotency {
    /// Same outcome, same answer.
    Same,
    /// Same outcome class, another answer.
    Answer,
    /// Another outcome class.
    Outcome,
}

impl Idempotency {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Answer => "answer",
            Self::Outcome => "outcome",
        }
    }
}

/// A read that was made before a write, and again after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadAfterWrite {
    /// Whether it shows a change.
    pub visible: bool,
    /// Position of the last write before it.
    pub write: usize,
    /// Calls from that write to the first identical read that shows a change (1:
    /// the very next call). `None` if none does before something else may have
    /// changed the state.
    pub delay_calls: Option<usize>,
    /// The same in milliseconds, from the end of the write to the start of that
    /// read, at least 0; `None` where times are not known.
    pub delay_ms: Option<f64>,
}

impl ReadAfterWrite {
    /// The class stored in tables.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        if self.visible {
            "visible"
        } else {
            "not_visible"
        }
    }
}

/// What one call says by repeating an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repeat {
    /// Position of the last identical call of an earlier turn.
    pub previous: Option<usize>,
    /// Whether another call between may have changed something; false without `previous`.
    pub change_between: bool,
    /// `None` if not measured.
    pub idempotency: Option<Idempotency>,
    /// `None` if not measured.
    pub read_after_write: Option<ReadAfterWrite>,
}

/// Whether an outcome says nothing about the state: the call, or its answer, got lost on the way.
#[must_use]
pub fn says_nothing(outcome: &str) -> bool {
    [
        Outcome::Timeout,
        Outcome::Transport,
        Outcome::RateLimited,
        Outcome::ServerError,
        Outcome::MalformedResponse,
    ]
    .iter()
    .any(|o| o.as_str() == outcome)
}

/// The repeats in one run's calls, in order; one row per call. O(n log n).
///
/// ```
/// use fidelake_core::gap::{Idempotency, RepeatCall, repeats};
/// let read = RepeatCall { key: 1, mutates: Some(false), outcome: "ok", answer: Some(7), ..Default::default() };
/// let write = RepeatCall { key: 2, turn: 2, mutates: Some(true), outcome: "ok", ..Default::default() };
/// // read, read again, write, read: unchanged, then the write shows.
/// let calls = [read, RepeatCall { turn: 1, ..read }, write, RepeatCall { turn: 3, answer: Some(8), ..read }];
/// let found = repeats(&calls);
/// assert_eq!(found[1].idempotency, Some(Idempotency::Same));
/// assert_eq!((found[3].previous, found[3].idempotency), (Some(1), None));
/// let seen = found[3].read_after_write.unwrap();
/// assert_eq!((seen.visible, seen.write, seen.delay_calls), (true, 2, Some(1)));
/// ```
#[must_use]
pub fn repeats(calls: &[RepeatCall<'_>]) -> Vec<Repeat> {
    let run = Run::of(calls);
    (0..calls.len()).map(|at| run.repeat(at)).collect()
}

/// 1 if the idempotency classes of two aligned calls differ, else 0; `None` if
/// either has none. For pairs between the arms and within one.
#[must_use]
pub fn idempotency_distance(left: &Repeat, right: &Repeat) -> Option<f64> {
    Some(differ(left.idempotency? != right.idempotency?))
}

/// 1 if one of two aligned calls sees the write before it and the other does not,
/// else 0; `None` if either is not measured. For pairs between the arms and within one.
#[must_use]
pub fn read_after_write_distance(left: &Repeat, right: &Repeat) -> Option<f64> {
    let visible = |repeat: &Repeat| repeat.read_after_write.map(|read| read.visible);
    Some(differ(visible(left)? != visible(right)?))
}

fn differ(differ: bool) -> f64 {
    f64::from(u8::from(differ))
}

/// What was found by looking at all calls once.
struct Run<'c> {
    calls: &'c [RepeatCall<'c>],
    /// Of each call, the positions of its turn.
    turns: Vec<Range<usize>>,
    /// Number of calls before each position (and at the end) that may change something.
    changes: Vec<usize>,
    /// Before each position, the last call that has written.
    writes: Vec<Option<usize>>,
    by_key: HashMap<u128, Vec<usize>>,
}

impl<'c> Run<'c> {
    fn of(calls: &'c [RepeatCall<'c>]) -> Self {
        let mut by_key: HashMap<u128, Vec<usize>> = HashMap::new();
        let (mut changes, mut writes) = (vec![0], vec![None]);
        let (mut count, mut write) = (0, None);
        for (at, call) in calls.iter().enumerate() {
            by_key.entry(call.key).or_default().push(at);
            count += usize::from(call.mutates != Some(false));
            if call.mutates == Some(true) && call.outcome == Outcome::Ok.as_str() {
                write = Some(at);
            }
            changes.push(count);
            writes.push(write);
        }
        let mut turns = Vec::with_capacity(calls.len());
        for turn in calls.chunk_by(|a, b| a.turn == b.turn) {
            let start = turns.len();
            turns.extend((0..turn.len()).map(|_| start..start + turn.len()));
        }
        Self {
            calls,
            turns,
            changes,
            writes,
            by_key,
        }
    }

    fn repeat(&self, at: usize) -> Repeat {
        let same = self.identical(at);
        let earlier = &same[..same.partition_point(|&i| i < self.turns[at].start)];
        let Some(&previous) = earlier.last() else {
            return Repeat::default();
        };
        let change_between = self.may_change(previous, at);
        let idempotency = if change_between {
            None
        } else {
            self.compare(previous, at)
        };
        let later = &same[same.partition_point(|&i| i < self.turns[at].end)..];
        Repeat {
            previous: Some(previous),
            change_between,
            idempotency,
            read_after_write: self.read_after_write(at, earlier, later),
        }
    }

    fn identical(&self, at: usize) -> &[usize] {
        self.by_key
            .get(&self.calls[at].key)
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a call that is no repeat of these two may have changed something
    /// between them; calls of their own turns may have.
    fn may_change(&self, from: usize, to: usize) -> bool {
        let (start, end) = (self.turns[from].start, self.turns[to].end);
        let same = self.identical(to);
        let own = same[same.partition_point(|&i| i < start)..]
            .iter()
            .take_while(|&&i| i < end)
            .filter(|&&i| self.calls[i].mutates != Some(false))
            .count();
        self.changes[end] - self.changes[start] > own
    }

    fn compare(&self, from: usize, to: usize) -> Option<Idempotency> {
        let (a, b) = (&self.calls[from], &self.calls[to]);
        if a.outcome != b.outcome {
            return Some(Idempotency::Outcome);
        }
        let same = a.answer? == b.answer?;
        Some(if same {
            Idempotency::Same
        } else {
            Idempotency::Answer
        })
    }

    fn changed(&self, from: usize, to: usize) -> Option<bool> {
        Some(self.compare(from, to)? != Idempotency::Same)
    }

    fn usable(&self, at: usize) -> bool {
        let call = &self.calls[at];
        call.mutates != Some(true) && !says_nothing(call.outcome)
    }

    fn read_after_write(
        &self,
        at: usize,
        earlier: &[usize],
        later: &[usize],
    ) -> Option<ReadAfterWrite> {
        let before = earlier.iter().rev().copied().find(|&i| self.usable(i))?;
        // The last write of a turn before this one, and after that of `before`.
        let write = self.writes[self.turns[at].start].filter(|&w| w >= self.turns[before].end)?;
        if !self.usable(at) {
            return None;
        }
        let visible = self.changed(before, at)?;
        let shown = if visible {
            Some(at)
        } else {
            later
                .iter()
                .copied()
                .take_while(|&i| !self.may_change(at, i))
                .find(|&i| self.usable(i) && self.changed(before, i) == Some(true))
        };
        Some(ReadAfterWrite {
            visible,
            write,
            delay_calls: shown.map(|i| i - write),
            delay_ms: shown.and_then(|i| self.delay_ms(write, i)),
        })
    }

    fn delay_ms(&self, write: usize, read: usize) -> Option<f64> {
        let (write, read) = (&self.calls[write], &self.calls[read]);
        let delay = read.started_ms? - (write.started_ms? + write.latency_ms?);
        delay.is_finite().then(|| delay.max(0.0))
    }
}
