//! What a call says by its place in its own run: it repeats an earlier one, or its
//! state is read back by a later one.

use super::{Knowledge, RunCall};
use crate::gap::answer::Form;
use crate::gap::repeats::{Repeat, RepeatCall, repeats};
use crate::gap::tokens::hash;
use crate::gap::transition::StateAfter;
use crate::model::{Arm, Outcome};

/// What is known of one call beside what it says itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    pub(super) repeat: Repeat,
    /// The state as recorded, else as read back.
    pub(super) state: StateAfter<'a>,
}

/// The calls in the order of their runs (sim first, by repeat) and places.
pub(super) fn order(calls: &[RunCall<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|&row| {
        let call = &calls[row];
        (call.arm == Arm::Real, call.repeat, call.turn, call.index)
    });
    order
}

/// The runs, each in the order of its calls.
pub(super) fn each<'o>(
    calls: &'o [RunCall<'_>],
    order: &'o [usize],
) -> impl Iterator<Item = &'o [usize]> {
    order.chunk_by(|&a, &b| (calls[a].arm, calls[a].repeat) == (calls[b].arm, calls[b].repeat))
}

/// What is known of every call, in the order of `calls`.
pub(super) fn runs<'a>(
    calls: &[RunCall<'a>],
    order: &[usize],
    knowledge: &dyn Knowledge,
) -> Vec<Known<'a>> {
    let mut out = vec![Known::default(); calls.len()];
    for run in each(calls, order) {
        let mutates: Vec<Option<bool>> = run
            .iter()
            .map(|&row| knowledge.mutates(calls[row].name))
            .collect();
        for (at, &row) in run.iter().enumerate() {
            out[row].state = state(calls, run, &mutates, at, knowledge);
        }
        for (&row, repeat) in run.iter().zip(repeated(calls, run, &mutates)) {
            out[row].repeat = repeat;
        }
    }
    out
}

fn repeated(calls: &[RunCall<'_>], run: &[usize], mutates: &[Option<bool>]) -> Vec<Repeat> {
    let mut keys: Vec<u128> = run.iter().map(|&row| calls[row].key).collect();
    keys.sort_unstable();
    if keys.windows(2).all(|pair| pair[0] != pair[1]) {
        // Hardly a run repeats a call: no hashing then.
        return vec![Repeat::default(); run.len()];
    }
    let calls: Vec<RepeatCall<'_>> = run
        .iter()
        .zip(mutates)
        .map(|(&row, &mutates)| {
            let call = &calls[row];
            RepeatCall {
                key: call.key,
                turn: call.turn,
                mutates,
                outcome: call.outcome.unwrap_or_default(),
                answer: call.outcome.map(|_| hash(call.answer.text.as_bytes())),
                started_ms: None,
                latency_ms: call.latency_ms,
            }
        })
        .collect();
    repeats(&calls)
}

/// The state that a call left: as recorded, else what the declared read shows that
/// comes next, before anything else may have changed it.
fn state<'a>(
    calls: &[RunCall<'a>],
    run: &[usize],
    mutates: &[Option<bool>],
    at: usize,
    knowledge: &dyn Knowledge,
) -> StateAfter<'a> {
    let call = &calls[run[at]];
    if call.state != StateAfter::default() || mutates[at] != Some(true) {
        return call.state;
    }
    for (&row, mutates) in run.iter().zip(mutates).skip(at + 1) {
        let read = &calls[row];
        if *mutates != Some(false) {
            break;
        }
        let usable = read.outcome == Some(Outcome::Ok.as_str()) && read.answer.form != Form::Text;
        if usable && knowledge.reads_back(call.name, read.name) {
            return StateAfter {
                value: Some(read.answer.text),
                hash: None,
            };
        }
    }
    call.state
}
