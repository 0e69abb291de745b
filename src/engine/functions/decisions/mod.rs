//! What an agent would do in two worlds: `decision_gap`, and what feeds it.

mod output;
mod steps;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, StringBuilder};
use arrow::array::{ArrayRef, ListArray, StringViewArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use fidelake_core::gap::{
    Episode, GoldSource, Logged, Pair, Probe, RightCall, Tool, decide, right_calls,
    text_similarity, tool_words,
};
use fidelake_core::json::Doc as Json;

use super::aggregate::collecting;
use super::catalogs::read_tools;
use super::scalar::{column, scalar, text, texts};
use super::settings::Settings;
use super::{Doc, Function};
use output::Output;
pub(crate) use output::fields;
use steps::{Gold, Steps};

const TEXT: DataType = DataType::Utf8View;

/// So many pairs of catalogs are kept read; most lakes have few.
const PAIRS_KEPT: usize = 256;

pub(super) fn functions(settings: &Arc<Settings>) -> Vec<Function> {
    let probe = Arc::clone(&settings.probe);
    vec![
        collecting(
            Doc {
                name: "steps",
                signature: "steps(turn int, index int, name text, call_key text, arguments text, answer text) -> text",
                doc: "The calls of one run with their answers as one JSON text, in their order: what decision_gap reads.",
                example: "SELECT steps(CAST(0 AS INT), CAST(0 AS INT), 'f', 'k', '{}', 'done') AS steps",
                gives: r#"[[0,0,"f","k","{}","done"]]"#,
            },
            vec![DataType::Int32, DataType::Int32, TEXT, TEXT, TEXT, TEXT],
            DataType::Utf8,
            steps::steps,
        ),
        scalar(
            Doc {
                name: "tool_words",
                signature: "tool_words(name text, description text, parameters text) -> list<text>",
                doc: "The distinct words of a tool: of its name, its description and its parameter names at every depth. Lower-case, split between a lower-case and an upper-case letter.",
                example: r#"SELECT array_to_string(tool_words('findUser', 'Finds a user', '{"properties":{"user_id":{}}}'), ' ') AS words"#,
                gives: "a find finds id user",
            },
            vec![TEXT; 3],
            DataType::List(item(DataType::Utf8)),
            words,
        ),
        scalar(
            Doc {
                name: "decision_gap",
                signature: "decision_gap(tools_sim, tools_real, task_sim, task_real, gold_sim, gold_real, steps_sim, steps_real, extra_sim, extra_real) -> struct<source, signed, sim, real, obs, act, rew, all_calls, right_calls, flow, pick_shift, task, calls>",
                doc: "How much likelier a lexical reader is to pick the right tool and to find its arguments in sim than in real (catalogs from `tools`, runs from `steps`, gold calls as in `runs`). `signed` is the mean over the right calls, split into `obs`, `act` and `rew`; `source` says who names the right calls: gold, recorded, none; or logged: both arms' `extra` have `decisions` of a policy of one's own, which stand in the place of the reader's. Words weigh by the lake's term weights in `fidelake profile`, all alike elsewhere. Null if a catalog or a task is.",
                example: r#"SELECT decision_gap('[{"name":"find","parameters":"{}"}]', '[]', 'find it', 'find it', '[{"name":"find"}]', NULL, NULL, NULL, NULL, NULL)['act'] AS gap"#,
                gives: "1.0",
            },
            vec![TEXT; 10],
            DataType::Struct(output::fields()),
            move |columns| decisions(&probe, columns),
        ),
    ]
}

fn item(kind: DataType) -> arrow::datatypes::FieldRef {
    Arc::new(Field::new_list_field(kind, true))
}

fn words(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [names, descriptions, parameters] = [texts(&args[0])?, texts(&args[1])?, texts(&args[2])?];
    let mut found = StringBuilder::new();
    let mut lengths = Vec::with_capacity(names.len());
    for row in 0..names.len() {
        let part = |of| text(of, row).unwrap_or_default();
        let words = tool_words(&Tool {
            name: part(&names),
            description: part(&descriptions),
            parameters: part(&parameters),
        });
        lengths.push(words.len());
        words.iter().for_each(|word| found.append_value(word));
    }
    let ends = OffsetBuffer::from_lengths(lengths);
    let list = ListArray::try_new(item(DataType::Utf8), ends, Arc::new(found.finish()), None)?;
    column(list)
}

/// Catalogs that were read: many trajectories share a pair.
struct Pairs<'c> {
    probe: &'c Probe,
    read: HashMap<(&'c str, &'c str), Arc<Pair>>,
}

impl<'c> Pairs<'c> {
    /// `None` if a catalog is no JSON.
    fn of(&mut self, sim: &'c str, real: &'c str) -> Option<Arc<Pair>> {
        if let Some(pair) = self.read.get(&(sim, real)) {
            return Some(Arc::clone(pair));
        }
        let (a, b) = (Json::parse(sim).ok()?, Json::parse(real).ok()?);
        let pair = Arc::new(self.probe.pair(&read_tools(&a), &read_tools(&b)));
        if self.read.len() >= PAIRS_KEPT {
            self.read.clear();
        }
        self.read.insert((sim, real), Arc::clone(&pair));
        Some(pair)
    }
}

fn decisions(probe: &Probe, args: &[ArrayRef]) -> Result<ArrayRef> {
    let columns: Vec<StringViewArray> = args.iter().map(texts).collect::<Result<_>>()?;
    let rows = columns.first().map_or(0, StringViewArray::len);
    let mut pairs = Pairs {
        probe,
        read: HashMap::new(),
    };
    let mut output = Output::new(rows);
    for row in 0..rows {
        let at = |column: usize| text(&columns[column], row);
        let told = at(0).zip(at(1)).zip(at(2).zip(at(3)));
        let pair = told.and_then(|((sim, real), _)| pairs.of(sim, real));
        match (told, pair) {
            (Some((_, tasks)), Some(pair)) => {
                one(
                    probe,
                    &pair,
                    tasks,
                    [at(4), at(5)],
                    [at(6), at(7)],
                    [at(8), at(9)],
                    &mut output,
                );
            }
            _ => output.unknown(),
        }
    }
    output.finish()
}

/// One trajectory.
fn one(
    probe: &Probe,
    pair: &Pair,
    tasks: (&str, &str),
    gold: [Option<&str>; 2],
    steps: [Option<&str>; 2],
    extras: [Option<&str>; 2],
    output: &mut Output,
) {
    let (gold_docs, step_docs) = (gold.map(parsed), steps.map(parsed));
    let gold = [0, 1].map(|arm: usize| Gold::read(gold_docs[arm].as_ref()));
    let lived = [0, 1].map(|arm: usize| Steps::read(step_docs[arm].as_ref()));
    let made = [gold[0].made(), gold[1].made()];
    let (source, placed) = right_calls([&made[0], &made[1]], [&lived[0].made, &lived[1].made]);
    let right: Vec<RightCall<'_>> = placed.iter().map(|(call, _)| *call).collect();
    let sim = Episode {
        task: tasks.0,
        seen: &lived[0].seen,
    };
    let real = Episode {
        task: tasks.1,
        seen: &lived[1].seen,
    };
    let decision = decide(probe, pair, sim, real, &right);
    let task = 1.0 - text_similarity(tasks.0, tasks.1);
    let [of_sim, of_real] = extras.map(log);
    let own = of_sim.zip(of_real);
    match own.and_then(|(sim, real)| decision.logged(&sim, &real)) {
        Some(own) => output.push(GoldSource::Logged, &own, &placed, task),
        None => output.push(source, &decision, &placed, task),
    }
}

/// The decisions that a run came with; the import refuses what is none.
fn log(extra: Option<&str>) -> Option<Logged> {
    let doc = Json::parse(extra?).ok()?;
    Logged::read(doc.root().get_some("decisions")?).ok()
}

fn parsed(text: Option<&str>) -> Option<Json<'_>> {
    Json::parse(text?).ok()
}
