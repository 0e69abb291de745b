//! `compare_runs`: all runs of a trajectory, side by side, call by call.

mod evidence;
mod input;
mod output;
mod variations;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use fidelake_core::gap::{Comparer, RunCall, SlotGap, compare_runs};

use super::aggregate::collecting;
use super::settings::{InUse, Settings};
use super::{Doc, Function};
use evidence::Samples;
use input::Input;
use output::Output;

const DOC: Doc = Doc {
    name: "compare_runs",
    signature: "compare_runs(environment, trajectory_key bigint, arm, repeat int, turn int, index int, name, call_key, arguments, structured, content, structured_rule, truncated boolean, outcome, state, state_hash, latency_ms double, sim_0 int, sim_1 int, real_0 int, real_1 int) -> list<struct<slot, turn, index, api, ...>>",
    doc: "All runs of one trajectory side by side: gives every call a slot (the same call has the same slot in every run), compares the pairs of runs there in every component (obs, act, outcome, state, idempotency, read_after_write, latency), takes off the arms' own noise, and traces each divergence of the first runs to its root. `sim_0` to `real_1` are the first two repeats of each arm. The columns are those of `call_gaps`; `COMPONENT_00` and `COMPONENT_11` are the distances of the first and the second runs, `evidence` a sample of differing values.",
    example: r#"SELECT compare_runs('e', CAST(1 AS BIGINT), arm, z, z, z, 'f', 'x', '{}', answer, NULL, 'json', false, 'ok', NULL, NULL, NULL, z, NULL, z, NULL)[1]['obs_raw'] AS gap FROM (VALUES ('sim', '{"a":1,"b":1}', CAST(0 AS INT)), ('real', '{"a":1,"b":2}', CAST(0 AS INT))) AS t(arm, answer, z)"#,
    gives: "0.5",
};

pub(super) use variations::function as variations;

/// The function, by the rules and the knowledge of one lake.
pub(super) fn function(settings: &Arc<Settings>) -> Function {
    let settings = Arc::clone(settings);
    collecting(
        DOC,
        arguments(),
        output::list_type(),
        move |columns, ends| compare(&settings, columns, ends),
    )
}

/// The types of the arguments, in the order of [`Input`].
fn arguments() -> Vec<DataType> {
    use DataType::{Boolean, Float64, Int32, Int64, Utf8View as Text};
    vec![
        Text, Int64, Text, Int32, Int32, Int32, Text, Text, Text, Text, Text, Text, Boolean, Text,
        Text, Text, Float64, Int32, Int32, Int32, Int32,
    ]
}

fn compare(settings: &Settings, columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let input = Input::new(columns)?;
    let mut output = Output::default();
    let mut samples = Samples::new(settings);
    let mut comparer = Comparer::default();
    let known = InUse::new(settings);
    // In the order of the trajectories, so that the same samples are taken whatever
    // the order of the rows.
    let mut order: Vec<usize> = (0..ends.len().saturating_sub(1)).collect();
    order.sort_by_key(|&group| (input.trajectory(ends[group]), group));
    for block in order.chunks(BLOCK) {
        let compared = in_threads(settings, &input, ends, block);
        for (at, &group) in block.iter().enumerate() {
            let environment = input.environment(ends[group]);
            let known = known.of(environment);
            let here = &compared[at];
            for gap in &here.gaps {
                let found = samples.take(
                    environment,
                    &here.calls,
                    gap,
                    here.own_noise,
                    &known,
                    &mut comparer,
                );
                output.push(gap, &found);
            }
            output.end_group(group);
        }
    }
    output.finish()
}

/// So many trajectories are held between comparing them and writing them down.
const BLOCK: usize = 4096;

/// A trajectory whose runs were compared.
struct Compared<'i> {
    calls: Vec<RunCall<'i>>,
    gaps: Vec<SlotGap<'i>>,
    own_noise: bool,
}

/// Compares the groups, by as many threads as the settings allow; in their order.
fn in_threads<'i>(
    settings: &Settings,
    input: &'i Input,
    ends: &[usize],
    groups: &[usize],
) -> Vec<Compared<'i>> {
    let compare = |groups: &[usize]| -> Vec<Compared<'i>> {
        let known = InUse::new(settings);
        let mut comparer = Comparer::default();
        let mut compared = Vec::with_capacity(groups.len());
        for &group in groups {
            let rows = ends[group]..ends[group + 1];
            let known = known.of(input.environment(rows.start));
            let firsts = input.firsts(rows.start);
            let calls: Vec<RunCall<'i>> = rows.filter_map(|row| input.call(row)).collect();
            let gaps = compare_runs(&calls, firsts, &known, &mut comparer);
            compared.push(Compared {
                own_noise: firsts.sim[1].is_some() && firsts.real[1].is_some(),
                calls,
                gaps,
            });
        }
        compared
    };
    let threads = settings.threads.clamp(1, groups.len().max(1));
    if threads == 1 {
        return compare(groups);
    }
    std::thread::scope(|scope| {
        let parts = groups.chunks(groups.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| compare(part))).collect();
        let joined = running.into_iter().map(|thread| match thread.join() {
            Ok(compared) => compared,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    })
}
