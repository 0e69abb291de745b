//! All runs of one trajectory, side by side: what the SQL of a profile rests on.
//!
//! Every call gets a slot ([`super::slots`]); at every slot the pairs of runs are
//! compared in each component, corrected for the arms' own noise
//! ([`super::correct_pairs`]), and the divergences of the first runs are traced to
//! their roots ([`super::causes`]).

mod cause;
mod knowledge;
mod part;
mod run;
mod variations;

use super::align::CallRef;
use super::answer::Answer;
use super::cascade::Cause;
use super::comparer::Comparer;
use super::kinds::Kinds;
use super::observation::ObsGap;
use super::paths::{LossNames, PathLoss, merge};
use super::repeats::{Repeat, idempotency_distance, read_after_write_distance};
use super::reward::acceptance_distance;
use super::slots::slots;
use super::tokens;
use super::transition::{StateAfter, latency_distance, outcome_distance, state_distance};
use crate::json::is_blob;
use crate::model::Arm;
use crate::stats::{GAMMA, mean, temporal_weight};
pub use knowledge::{Knowledge, NoKnowledge};
pub use part::{Learned, Part};
pub use variations::{Variation, variations};

/// One call of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunCall<'a> {
    /// The arm of the run.
    pub arm: Arm,
    /// The run within its arm.
    pub repeat: i32,
    /// Ordinal of the message that makes the call.
    pub turn: i32,
    /// Place among the calls of that message.
    pub index: i32,
    /// Name of the tool.
    pub name: &'a str,
    /// The bits of its `call_key`.
    pub key: u128,
    /// Arguments as given.
    pub arguments: &'a str,
    /// What came back.
    pub answer: Answer<'a>,
    /// Its outcome class; `None` without an answer.
    pub outcome: Option<&'a str>,
    /// The state after the call.
    pub state: StateAfter<'a>,
    /// Time taken.
    pub latency_ms: Option<f64>,
}

/// The first two repeats of each arm; further ones count in the noise only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firsts {
    /// Of sim.
    pub sim: [Option<i32>; 2],
    /// Of real.
    pub real: [Option<i32>; 2],
}

/// The components that are measured call by call, in the order of [`SlotGap::parts`].
pub const PARTS: [&str; 7] = [
    "obs",
    "act",
    "outcome",
    "state",
    "idempotency",
    "read_after_write",
    "latency",
];

/// One call of a trajectory over all its runs.
#[derive(Clone, Debug)]
pub struct SlotGap<'a> {
    /// Place of the call, from 0.
    pub slot: usize,
    /// Turn in the first run that has it.
    pub turn: i32,
    /// Place within that turn.
    pub index: i32,
    /// Name of the tool in that run.
    pub api: &'a str,
    /// Runs of sim and of real that have it.
    pub runs: [u32; 2],
    /// Outcome in the first run of sim and of real.
    pub outcomes: [Option<&'a str>; 2],
    /// `gamma^(T - t)`.
    pub weight: f64,
    /// Why the first runs differ here.
    pub cause: Cause,
    /// The components.
    pub parts: [Part; 7],
    /// Mean over the pairs between the arms, of answers: by mass, the part from
    /// structure, the part from values, confidence.
    pub answers: [Option<f64>; 4],
    /// Differing paths of the first runs, where they can be compared.
    pub kinds: Option<Kinds>,
    /// The same by path, each path once.
    pub paths: Vec<PathLoss>,
    /// Mean latency on sim and on real.
    pub latency_ms: [Option<f64>; 2],
    /// Calls from a write until it shows in reads, mean over the runs of sim and of real.
    pub visible_after: [Option<f64>; 2],
    /// The first runs' calls, as places in the input.
    pub firsts: [Option<usize>; 2],
}

/// Compares the runs of one trajectory. `calls` come in any order.
#[must_use]
pub fn compare_runs<'a>(
    calls: &[RunCall<'a>],
    firsts: Firsts,
    knowledge: &dyn Knowledge,
    comparer: &mut Comparer,
) -> Vec<SlotGap<'a>> {
    let order = run::order(calls);
    let runs = run::runs(calls, &order, knowledge);
    let members = members(calls, &order);
    let last_turn = members
        .iter()
        .filter_map(|rows| rows.first())
        .map(|&row| calls[row].turn)
        .max()
        .unwrap_or_default();
    let weight = |turn: i32| {
        let weight = temporal_weight(i64::from(turn), i64::from(last_turn), GAMMA);
        // No turn comes after the last one.
        weight.unwrap_or(1.0)
    };
    let pairs = Pairs {
        calls,
        of_run: &runs,
        // What was learned from others is for those without repeats of their own.
        own_noise: firsts.sim[1].is_some() && firsts.real[1].is_some(),
        knowledge,
    };
    let mut scratch = Scratch::default();
    let mut out: Vec<SlotGap<'a>> = Vec::with_capacity(members.len());
    let mut changed: Vec<Option<Vec<u64>>> = Vec::with_capacity(members.len());
    for (slot, rows) in members.iter().enumerate() {
        let Some(&head) = rows.first() else { continue };
        let head = &calls[head];
        let first = |arm: Arm, repeat: Option<i32>| {
            let is = |&&row: &&usize| calls[row].arm == arm && Some(calls[row].repeat) == repeat;
            rows.iter().find(is).copied()
        };
        let heads = [
            first(Arm::Sim, firsts.sim[0]),
            first(Arm::Real, firsts.real[0]),
        ];
        let of = |arm: Arm| rows.iter().filter(move |&&row| calls[row].arm == arm);
        let latency = |arm| {
            let known: Vec<f64> = of(arm).filter_map(|&row| calls[row].latency_ms).collect();
            mean(&known)
        };
        let visible = |arm| {
            let reads = of(arm).filter_map(|&row| runs[row].repeat.read_after_write);
            let delays: Vec<f64> = reads
                .filter_map(|read| read.delay_calls)
                .map(|calls| calls as f64)
                .collect();
            mean(&delays)
        };
        let count = |arm| u32::try_from(of(arm).count()).unwrap_or(u32::MAX);
        let mut gap = SlotGap {
            slot,
            turn: head.turn,
            index: head.index,
            api: head.name,
            runs: [count(Arm::Sim), count(Arm::Real)],
            outcomes: heads.map(|row| row.and_then(|row| calls[row].outcome)),
            weight: weight(head.turn),
            cause: Cause::None,
            parts: [Part::default(); 7],
            answers: [None; 4],
            kinds: None,
            paths: Vec::new(),
            latency_ms: [latency(Arm::Sim), latency(Arm::Real)],
            visible_after: [visible(Arm::Sim), visible(Arm::Real)],
            firsts: heads,
        };
        let seconds = [
            first(Arm::Sim, firsts.sim[1]),
            first(Arm::Real, firsts.real[1]),
        ];
        pairs.compare(rows, seconds, comparer, &mut scratch, &mut gap);
        let compared = gap.kinds.is_some();
        changed.push(compared.then(|| scratch.names.found().to_vec()));
        out.push(gap);
    }
    cause::trace(calls, &mut out, &changed, &pairs, comparer);
    out
}

/// The calls of every slot, in the order of the runs: sim first, by repeat.
fn members(calls: &[RunCall<'_>], order: &[usize]) -> Vec<Vec<usize>> {
    let runs: Vec<Vec<CallRef<'_>>> = run::each(calls, order)
        .map(|run| {
            let reference = |&row: &usize| CallRef {
                turn: calls[row].turn,
                index: calls[row].index,
                name: calls[row].name,
                key: calls[row].key,
            };
            run.iter().map(reference).collect()
        })
        .collect();
    let (found, count) = slots(&runs);
    let mut members = vec![Vec::with_capacity(runs.len()); count];
    for (&row, slot) in order.iter().zip(found.into_iter().flatten()) {
        members[slot].push(row);
    }
    members
}

/// What was already compared at this slot: repeats mostly answer alike.
#[derive(Default)]
struct Memo {
    /// For every member the first member with the same answer.
    same_as: Vec<usize>,
    found: Vec<(usize, usize, ObsGap)>,
}

impl Memo {
    fn begin(&mut self, calls: &[RunCall<'_>], rows: &[usize]) {
        let answer = |at: usize| calls[rows[at]].answer;
        self.found.clear();
        self.same_as.clear();
        self.same_as.extend((0..rows.len()).map(|at| {
            (0..at)
                .find(|&other| answer(other) == answer(at))
                .unwrap_or(at)
        }));
    }

    fn gap(&mut self, a: usize, b: usize, observe: impl FnOnce() -> ObsGap) -> ObsGap {
        let pair = (self.same_as[a], self.same_as[b]);
        let known = self.found.iter().find(|f| (f.0, f.1) == pair);
        if let Some((_, _, gap)) = known {
            return *gap;
        }
        let gap = observe();
        self.found.push((pair.0, pair.1, gap));
        gap
    }
}

/// Room for the pairs of a slot, kept from slot to slot.
#[derive(Default)]
struct Scratch {
    /// By component, then: between the arms, within sim, within real.
    distances: [[Vec<f64>; 3]; 7],
    answers: [Vec<f64>; 4],
    memo: Memo,
    /// What differs between the first runs, by name.
    names: LossNames,
}

impl Scratch {
    fn begin(&mut self, calls: &[RunCall<'_>], rows: &[usize]) {
        self.distances.iter_mut().flatten().for_each(Vec::clear);
        self.answers.iter_mut().for_each(Vec::clear);
        self.memo.begin(calls, rows);
    }
}

/// What the pairs of runs at a slot have in common.
struct Pairs<'p> {
    calls: &'p [RunCall<'p>],
    of_run: &'p [run::Known<'p>],
    own_noise: bool,
    knowledge: &'p dyn Knowledge,
}

impl Pairs<'_> {
    fn compare(
        &self,
        rows: &[usize],
        seconds: [Option<usize>; 2],
        comparer: &mut Comparer,
        scratch: &mut Scratch,
        out: &mut SlotGap<'_>,
    ) {
        let calls = self.calls;
        scratch.begin(calls, rows);
        let Scratch {
            distances,
            answers,
            memo,
            names,
        } = scratch;
        let rules = self.knowledge.rules(out.api, self.own_noise);
        let rules = rules.as_deref();
        for a in 0..rows.len() {
            for b in a + 1..rows.len() {
                let (left, right) = (&calls[rows[a]], &calls[rows[b]]);
                let kind = match (left.arm, right.arm) {
                    (Arm::Sim, Arm::Real) | (Arm::Real, Arm::Sim) => 0,
                    (Arm::Sim, Arm::Sim) => 1,
                    (Arm::Real, Arm::Real) => 2,
                };
                let here = [Some(rows[a]), Some(rows[b])];
                let (is_00, is_11) = (here == out.firsts, here == seconds);
                // Answers are compared only where both worlds say the same of the call:
                // another outcome is a difference of transition, not of observation.
                let outcomes = left.outcome.zip(right.outcome);
                let comparable = !is_blank(left.answer) && !is_blank(right.answer);
                let alike = outcomes.filter(|(a, b)| a == b && comparable);
                let answer = alike.map(|_| {
                    if is_00 {
                        let (left, right) = (left.answer, right.answer);
                        let paths = &mut out.paths;
                        let gap = comparer.losses_with_names(rules, left, right, paths, names);
                        out.kinds = Some(gap.kinds);
                        return memo.gap(a, b, || gap);
                    }
                    memo.gap(a, b, || {
                        comparer.observe_with(rules, left.answer, right.answer)
                    })
                });
                let known = [&self.of_run[rows[a]], &self.of_run[rows[b]]];
                let repeats: [&Repeat; 2] = known.map(|k| &k.repeat);
                let found = [
                    answer.map(|gap| gap.gap),
                    outcomes.map(|(a, b)| acceptance_distance(a, b)),
                    outcomes.map(|(a, b)| outcome_distance(a, b)),
                    state_distance(known[0].state, known[1].state, comparer),
                    idempotency_distance(repeats[0], repeats[1]),
                    read_after_write_distance(repeats[0], repeats[1]),
                    left.latency_ms
                        .zip(right.latency_ms)
                        .and_then(|(a, b)| latency_distance(a, b)),
                ];
                for (at, distance) in found.into_iter().enumerate() {
                    distances[at][kind].push(distance.unwrap_or(f64::NAN));
                    if is_00 {
                        out.parts[at].first = distance;
                    } else if is_11 {
                        out.parts[at].second = distance;
                    }
                }
                if let Some(gap) = answer.filter(|_| kind == 0) {
                    let numbers = [gap.gap_mass, gap.structure, gap.value, gap.confidence];
                    for (list, number) in answers.iter_mut().zip(numbers) {
                        list.push(number);
                    }
                }
            }
        }
        out.answers = answers.each_ref().map(|list| mean(list));
        let learned = match self.own_noise {
            true => Learned::default(),
            false => self.knowledge.learned(out.api),
        };
        for (at, part) in out.parts.iter_mut().enumerate() {
            part.correct(&distances[at], learned.0[at]);
        }
        merge(&mut out.paths);
    }
}

/// Whether a cut answer says nothing: of its words the last may be half of one. A text without
/// words (base64) is compared by its letters.
fn is_blank(answer: Answer<'_>) -> bool {
    answer.truncated && !is_blob(answer.text) && tokens::count(answer.text) <= 1
}

#[cfg(test)]
mod tests;
