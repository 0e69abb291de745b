//! The rules that choose among the runs of the source: licences, hold-out sets,
//! evidence, near duplicates, quotas, diversity, splits. In this order.

use std::collections::{BTreeMap, HashMap, HashSet};

use fidelake_core::choose::{ToolGraph, Unit, Walk, by_walks, cover, near_duplicates, shingles};
use fidelake_core::json::key::Key;
use fidelake_core::stats::Chance;

use super::error::{CurateError, CurateResult};
use super::holdout::HoldoutSet;
use super::leak::{MIN_CALLS, can_be_found, leaks};
use super::ledger::Ledger;
use super::recipe::Recipe;
use super::recipe_rules::{DiversityBy, Duplicates, Holdout, Quota, Rules};
use super::select::{Candidate, OF_CALLS};
use super::sequence::{Sequences, edges};
use super::split::Split;
use crate::engine::Engine;

/// Licences and hold-out sets: what must not be trained on, whatever it is worth.
pub(super) async fn permitted(
    engine: &Engine,
    recipe: &Recipe,
    sets: &[HoldoutSet],
    mut candidates: Vec<Candidate>,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    if let Some(part) = &recipe.rules.licenses {
        let why: Vec<Option<String>> = candidates
            .iter()
            .map(|run| match run.license.as_deref() {
                None if part.keep_missing => None,
                None => Some(format!("it has no label {:?}", part.label)),
                Some(name) if part.allow.contains(&name.trim().to_lowercase()) => None,
                Some(name) => Some(format!("its licence is {name:?}")),
            })
            .collect();
        candidates = ledger.keep(candidates, "[licenses]", "", &|at| why[at].clone());
        some(
            &candidates,
            "[licenses] left out every run; allow the right names, or write missing = \"keep\"",
        )?;
    }
    if !sets.is_empty() {
        let sequences = Sequences::read(engine, &candidates).await?;
        let why = leaks(engine, recipe, sets, &candidates, &sequences).await?;
        let tasks: usize = sets.iter().map(|set| set.entries.len()).sum();
        let note = format!("{tasks} tasks in {} hold-out files", sets.len());
        let both = recipe.rules.holdouts.iter().zip(sets);
        let idle = both
            .filter_map(|(part, set)| idle(part, set, &candidates))
            .collect();
        candidates = ledger.keep(candidates, "[[holdout]]", note, &|at| why[at].clone());
        ledger.idle(idle);
        some(&candidates, "every run is a task of a hold-out file")?;
    }
    Ok(candidates)
}

/// Why a hold-out set, or a part of it, finds nothing whatever the runs are.
fn idle(part: &Holdout, set: &HoldoutSet, candidates: &[Candidate]) -> Option<String> {
    if let Some(name) = &part.environment
        && !candidates.iter().any(|run| *run.environment == **name)
    {
        return Some(format!(
            "{} checks nothing: no run is of environment {name:?}",
            part.name
        ));
    }
    let blind = set
        .entries
        .iter()
        .filter(|entry| !can_be_found(entry, &part.by))
        .count();
    (blind > 0).then(|| {
        format!(
            "{} checks nothing for {blind} of its {} records: they have none of what `match` names, or fewer than {MIN_CALLS} calls",
            part.name,
            set.entries.len()
        )
    })
}

/// Near duplicates, quotas, diversity, splits.
pub(super) async fn choose(
    engine: &Engine,
    recipe: &Recipe,
    mut candidates: Vec<Candidate>,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    let rules = &recipe.rules;
    let of_calls = |quota: &Quota| OF_CALLS.contains(&quota.by.as_str());
    if rules.duplicates.is_some() || rules.diversity.is_some() || rules.quotas.iter().any(of_calls)
    {
        let mut sequences = Sequences::read(engine, &candidates).await?;
        if let Some(part) = rules.duplicates {
            candidates = unrepeated(recipe, part, candidates, &mut sequences, ledger);
        }
        for at in 0..rules.quotas.len() {
            candidates = within(recipe, at, candidates, &mut sequences, ledger)?;
        }
        candidates = diverse(engine, recipe, candidates, &mut sequences, ledger).await?;
    } else {
        for at in 0..rules.quotas.len() {
            candidates = within(recipe, at, candidates, &mut Sequences::default(), ledger)?;
        }
    }
    split(rules, &mut candidates, ledger);
    Ok(candidates)
}

fn some(candidates: &[Candidate], why: &str) -> CurateResult<()> {
    match candidates.is_empty() {
        true => Err(CurateError::Empty(why.to_owned())),
        false => Ok(()),
    }
}

/// A number that is chance but for the seed, the rule and what it is asked of: the
/// same whatever else the lake holds.
fn lot(seed: u64, rule: &str, of: &[&str]) -> u128 {
    let seed = seed.to_string();
    let mut parts = vec!["choice", seed.as_str(), rule];
    parts.extend(of);
    Key::of_parts(&parts).bits()
}

/// What is taken or left as a whole: runs, or groups where the recipe says so; in an
/// order by lot.
fn units(recipe: &Recipe, rule: &str, candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let seed = recipe.rules.seed;
    let mut parts: BTreeMap<(u128, Vec<&str>), Vec<usize>> = BTreeMap::new();
    for (at, run) in candidates.iter().enumerate() {
        let mut name = vec![&*run.environment];
        if recipe.groups.whole {
            name.push(&run.group);
            name.extend(
                run.policy
                    .as_deref()
                    .filter(|_| !recipe.groups.mix_policies),
            );
        } else {
            name.push(&run.run_id);
        }
        parts
            .entry((lot(seed, rule, &name), name))
            .or_default()
            .push(at);
    }
    parts.into_values().collect()
}

fn unrepeated(
    recipe: &Recipe,
    part: Duplicates,
    candidates: Vec<Candidate>,
    sequences: &mut Sequences,
    ledger: &mut Ledger,
) -> Vec<Candidate> {
    // Of several equal runs the one stays of which most is measured, then one by lot.
    let rank = |run: &Candidate| match run.judged.map(|j| j.source) {
        Some("measured" | "real") => 0,
        Some("mixed") => 1,
        Some(_) => 2,
        None => 3,
    };
    let seed = recipe.rules.seed;
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_cached_key(|at| {
        (
            rank(&candidates[*at]),
            lot(seed, "duplicates", &[&candidates[*at].run_id]),
        )
    });
    let sets: Vec<Vec<u64>> = order
        .iter()
        .map(|at| {
            // Environments never repeat each other.
            let salt = Key::of(candidates[*at].environment.as_bytes()).bits() as u64;
            let calls = sequences.runs[*at].calls.iter();
            shingles(&calls.map(|(_, key)| key ^ salt).collect::<Vec<_>>())
        })
        .collect();
    let mut groups: HashMap<(&str, &str), u32> = HashMap::new();
    let apart: Vec<u32> = order
        .iter()
        .enumerate()
        .map(|(place, at)| {
            let next = u32::try_from(if part.keep_groups {
                groups.len()
            } else {
                place
            })
            .unwrap_or(u32::MAX);
            if !part.keep_groups {
                return next;
            }
            let run = &candidates[*at];
            *groups
                .entry((&*run.environment, &run.group))
                .or_insert(next)
        })
        .collect();
    let near = near_duplicates(&sets, &apart, part.similarity);
    let mut repeats: Vec<Option<usize>> = vec![None; candidates.len()];
    for (place, other) in near.repeats.iter().enumerate() {
        repeats[order[place]] = other.map(|other| order[other]);
    }
    let names: Vec<Option<String>> = repeats
        .iter()
        .map(|other| {
            other.map(|at| {
                format!(
                    "its calls repeat those of {} (repeat {})",
                    candidates[at].trajectory_id, candidates[at].repeat
                )
            })
        })
        .collect();
    let without = sets.iter().filter(|set| set.is_empty()).count();
    let mut note = format!("{} comparisons", near.compared);
    if without > 0 {
        note.push_str(&format!("; {without} runs without calls were not compared"));
    }
    if near.crowded > 0 {
        note.push_str(&format!(
            "; {} runs had more neighbours than are compared",
            near.crowded
        ));
    }
    sequences.keep(&names.iter().map(Option::is_none).collect::<Vec<_>>());
    ledger.keep(candidates, "[duplicates]", note, &|at| names[at].clone())
}

fn within(
    recipe: &Recipe,
    number: usize,
    candidates: Vec<Candidate>,
    sequences: &mut Sequences,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    let quota = &recipe.rules.quotas[number];
    let rule = format!("[[quota]] {}", quota.by.trim());
    let values = |at: usize| -> Vec<String> {
        let run = sequences.runs.get(at);
        match quota.by.as_str() {
            "api" => {
                let tools: HashSet<u32> = run
                    .into_iter()
                    .flat_map(|run| &run.calls)
                    .map(|call| call.0)
                    .collect();
                tools
                    .into_iter()
                    .map(|tool| sequences.tools.name(tool).to_owned())
                    .collect()
            }
            "outcome" => {
                let outcomes = run.into_iter().flat_map(|run| &run.outcomes);
                outcomes
                    .map(|outcome| sequences.outcomes.name(*outcome).to_owned())
                    .collect()
            }
            "pattern" => {
                let patterns = run.into_iter().flat_map(|run| &run.patterns);
                patterns
                    .map(|pattern| sequences.patterns.name(*pattern).to_owned())
                    .collect()
            }
            _ => {
                let value = candidates[at].quotas.get(number).cloned().flatten();
                vec![value.map_or_else(|| "null".to_owned(), |value| value.to_string())]
            }
        }
    };
    let share = quota
        .max_share
        .map(|share| (share * candidates.len() as f64).floor() as u64);
    let cap = |value: &str| {
        quota
            .values
            .get(value)
            .copied()
            .or(quota.max_rows)
            .or(share)
    };
    let mut used: HashMap<String, u64> = HashMap::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut why: Vec<Option<String>> = vec![None; candidates.len()];
    for unit in units(recipe, &rule, &candidates) {
        let mut wants: BTreeMap<String, u64> = BTreeMap::new();
        unit.iter()
            .flat_map(|at| values(*at))
            .for_each(|value| *wants.entry(value).or_default() += 1);
        seen.extend(
            wants
                .keys()
                .filter(|value| quota.values.contains_key(*value))
                .cloned(),
        );
        let over = wants.iter().find_map(|(value, more)| {
            let cap = cap(value)?;
            (used.get(value).copied().unwrap_or_default() + more > cap).then_some((value, cap))
        });
        match over {
            Some((value, cap)) => {
                let text = format!(
                    "{} = {value:?} may have {cap} rows and has them",
                    quota.by.trim()
                );
                unit.iter().for_each(|at| why[*at] = Some(text.clone()));
            }
            None => wants
                .into_iter()
                .for_each(|(value, more)| *used.entry(value).or_default() += more),
        }
    }
    sequences.keep(&why.iter().map(Option::is_none).collect::<Vec<_>>());
    let strange: Vec<&str> = quota
        .values
        .keys()
        .filter(|value| !seen.contains(value.as_str()))
        .map(String::as_str)
        .collect();
    let kept = ledger.keep(candidates, &rule, "", &|at| why[at].clone());
    if !strange.is_empty() {
        ledger.idle(vec![format!("no run has {}", strange.join(", "))]);
    }
    some(&kept, &format!("{rule} left out every run"))?;
    Ok(kept)
}

/// Numbers for what a run holds: a tool, two calls after each other, an edge of the tool graph.
#[derive(Default)]
struct Features(HashMap<(u8, u32, u32), u32>);

impl Features {
    fn place(&mut self, feature: (u8, u32, u32)) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(feature).or_insert(next)
    }
}

const TOOL: u8 = 0;
const AFTER: u8 = 1;
const EDGE: u8 = 2;

async fn diverse(
    engine: &Engine,
    recipe: &Recipe,
    candidates: Vec<Candidate>,
    sequences: &mut Sequences,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    let Some(part) = recipe.rules.diversity else {
        return Ok(candidates);
    };
    let walked = edges(engine, &candidates, &mut sequences.tools).await?;
    let mut features = Features::default();
    let units = units(recipe, "diversity", &candidates);
    let mut holds: Vec<Unit> = Vec::with_capacity(units.len());
    for unit in &units {
        let mut own = HashSet::new();
        for at in unit {
            let run = &sequences.runs[*at];
            own.extend(
                run.calls
                    .iter()
                    .map(|call| features.place((TOOL, call.0, 0))),
            );
            if part.by == DiversityBy::Coverage {
                own.extend(
                    run.calls
                        .windows(2)
                        .map(|two| features.place((AFTER, two[0].0, two[1].0))),
                );
            }
            own.extend(
                walked[*at]
                    .iter()
                    .map(|edge| features.place((EDGE, edge.0, edge.1))),
            );
        }
        let mut own: Vec<u32> = own.into_iter().collect();
        own.sort_unstable();
        holds.push(Unit {
            rows: unit.len(),
            features: own,
        });
    }
    let tools = sequences
        .runs
        .iter()
        .flat_map(|run| &run.calls)
        .map(|call| call.0);
    let graph = ToolGraph::new(tools, walked.iter().flatten().copied());
    let chosen = match part.by {
        DiversityBy::Coverage => cover(&holds, part.rows),
        DiversityBy::Topology => {
            let mut chance = Chance::new(recipe.rules.seed);
            let known = |feature: (u8, u32, u32)| features.0.get(&feature).copied();
            by_walks(&graph, &holds, part.rows, &mut chance, &|walk: &Walk| {
                let tools = walk.tools.iter().map(|tool| known((TOOL, *tool, 0)));
                let edges = walk.edges.iter().map(|edge| known((EDGE, edge.0, edge.1)));
                tools.chain(edges).flatten().collect()
            })
        }
    };
    let mut kept = vec![false; candidates.len()];
    chosen
        .iter()
        .flat_map(|unit| &units[*unit])
        .for_each(|at| kept[*at] = true);
    let covered: HashSet<u32> = chosen
        .iter()
        .flat_map(|unit| holds[*unit].features.iter().copied())
        .collect();
    let note = format!(
        "{} tools, {} edges of the tool graph; {} of {} features are covered",
        graph.tools(),
        graph.edges(),
        covered.len(),
        features.0.len()
    );
    sequences.keep(&kept);
    let why = format!("{} rows that cover more were chosen", part.rows);
    let kept = ledger.keep(candidates, "[diversity]", note, &|at| {
        (!kept[at]).then(|| why.clone())
    });
    some(
        &kept,
        "[diversity] rows is smaller than every group: give it more rows, or write whole = false in [groups]",
    )?;
    Ok(kept)
}

/// By task, never by row, and by a hash of the task: what the lake gets later moves nothing.
fn split(rules: &Rules, candidates: &mut [Candidate], ledger: &mut Ledger) {
    let shares = rules.split;
    if shares.validation + shares.test == 0.0 {
        return;
    }
    let mut counts = [0u64; 3];
    for run in candidates.iter_mut() {
        let lot = lot(rules.seed, "split", &[&run.environment, &run.task]);
        let place = (lot >> 64) as f64 / 2f64.powi(64);
        run.split = match place {
            p if p < shares.test => Split::Test,
            p if p < shares.test + shares.validation => Split::Validation,
            _ => Split::Train,
        };
        counts[run.split as usize] += 1;
    }
    let all = candidates.len() as u64;
    let note = format!(
        "train {}, validation {}, test {}",
        counts[0], counts[1], counts[2]
    );
    ledger.rule("[split]", all, all, note);
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
