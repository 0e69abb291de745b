//! Which candidates are hold-out tasks in disguise.

use std::collections::{HashMap, HashSet};

use super::error::CurateResult;
use super::holdout::{Entry, HoldoutSet};
use super::read::{longs, stream_in, text, texts};
use super::recipe::Recipe;
use super::recipe_rules::{Holdout, LeakBy};
use super::select::Candidate;
use super::sequence::{Sequences, environments, listed};
use crate::engine::Engine;

/// Words of a shingle; shorter texts must be equal.
const WORDS: usize = 5;

/// Fewer calls than this say nothing.
pub(super) const MIN_CALLS: usize = 2;

/// Whether a record has anything by which a run could be known.
pub(super) fn can_be_found(entry: &Entry, by: &[LeakBy]) -> bool {
    by.iter().any(|way| match way {
        LeakBy::TaskId => entry.id.is_some(),
        LeakBy::Task => entry.text.is_some(),
        LeakBy::Calls => entry.calls.len() >= MIN_CALLS,
    })
}

/// Why each candidate leaks, if it does.
pub(super) async fn leaks(
    engine: &Engine,
    recipe: &Recipe,
    sets: &[HoldoutSet],
    candidates: &[Candidate],
    sequences: &Sequences,
) -> CurateResult<Vec<Option<String>>> {
    let mut found: Vec<Option<String>> = vec![None; candidates.len()];
    let indexes: Vec<Index<'_>> = recipe
        .rules
        .holdouts
        .iter()
        .zip(sets)
        .map(|(part, set)| Index::of(part, set))
        .collect();
    let mut tally = Tally::default();
    for ((run, sequence), slot) in candidates.iter().zip(&sequences.runs).zip(&mut found) {
        let keys: HashSet<u64> = sequence.calls.iter().map(|call| call.1).collect();
        *slot = indexes.iter().find_map(|index| {
            index
                .by_id(run)
                .or_else(|| index.by_calls(run, &keys, &mut tally))
        });
    }
    if indexes
        .iter()
        .any(|index| index.part.by.contains(&LeakBy::Task))
    {
        let context = listed(engine, candidates)?;
        let sql = format!(
            "SELECT l.place, t.task FROM curation_choice AS l JOIN runs AS t ON t.run_id = l.run_id \
             WHERE t.environment IN ({}) AND t.task IS NOT NULL",
            environments(candidates)
        );
        let mut batches = stream_in(&context, &sql).await?;
        while let Some(batch) = batches.next().await? {
            let (place, task) = (longs(&batch, "place")?, texts(&batch, "task")?);
            for row in 0..batch.num_rows() {
                let at = usize::try_from(place.value(row)).unwrap_or(usize::MAX);
                let (Some(slot), Some(run)) = (found.get_mut(at), candidates.get(at)) else {
                    continue;
                };
                if slot.is_none()
                    && let Some(text) = text(&task, row)
                {
                    let words = words(&text);
                    *slot = indexes
                        .iter()
                        .find_map(|index| index.by_text(run, &words, &mut tally));
                }
            }
        }
    }
    Ok(found)
}

/// A hold-out set, to be asked.
struct Index<'a> {
    part: &'a Holdout,
    ids: HashMap<&'a str, usize>,
    /// Entries by a call or a shingle that they hold, and how many they hold.
    calls: Inverted,
    shingles: Inverted,
    short: HashMap<Vec<String>, usize>,
}

#[derive(Default)]
struct Inverted {
    holding: HashMap<u64, Vec<usize>>,
    sizes: HashMap<usize, usize>,
}

/// Hits by entry, kept from one question to the next.
type Tally = HashMap<usize, usize>;

impl Inverted {
    fn add(&mut self, entry: usize, features: HashSet<u64>) {
        self.sizes.insert(entry, features.len());
        features
            .into_iter()
            .for_each(|f| self.holding.entry(f).or_default().push(entry));
    }

    /// The entry of which the largest share is there, and that share.
    fn best(&self, features: impl Iterator<Item = u64>, tally: &mut Tally) -> Option<(usize, f64)> {
        tally.clear();
        for entry in features.filter_map(|f| self.holding.get(&f)).flatten() {
            *tally.entry(*entry).or_default() += 1;
        }
        let shares = tally
            .iter()
            .map(|(entry, hits)| (*entry, *hits as f64 / self.sizes[entry] as f64));
        shares.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }
}

impl<'a> Index<'a> {
    fn of(part: &'a Holdout, set: &'a HoldoutSet) -> Self {
        let mut index = Self {
            part,
            ids: HashMap::new(),
            calls: Inverted::default(),
            shingles: Inverted::default(),
            short: HashMap::new(),
        };
        for (at, entry) in set.entries.iter().enumerate() {
            if let Some(id) = &entry.id {
                index.ids.entry(id).or_insert(at);
            }
            let calls: HashSet<u64> = entry.calls.iter().copied().collect();
            if calls.len() >= MIN_CALLS {
                index.calls.add(at, calls);
            }
            if let Some(text) = &entry.text {
                let words = words(text);
                if words.len() >= WORDS {
                    index.shingles.add(at, shingles(&words).collect());
                } else if !words.is_empty() {
                    index.short.entry(words).or_insert(at);
                }
            }
        }
        index
    }

    fn asks(&self, by: LeakBy, run: &Candidate) -> bool {
        self.part.by.contains(&by) && self.part.covers(&run.environment)
    }

    fn by_id(&self, run: &Candidate) -> Option<String> {
        let id = run
            .task_id
            .as_deref()
            .filter(|_| self.asks(LeakBy::TaskId, run))?;
        self.ids.get(id)?;
        Some(format!("its task id {id:?} stands in {}", self.part.name))
    }

    fn by_calls(&self, run: &Candidate, keys: &HashSet<u64>, tally: &mut Tally) -> Option<String> {
        if !self.asks(LeakBy::Calls, run) {
            return None;
        }
        let (entry, share) = self.calls.best(keys.iter().copied(), tally)?;
        (share >= self.part.similarity).then(|| {
            format!(
                "it makes {:.0} % of the calls of record {} of {}",
                100.0 * share,
                entry + 1,
                self.part.name
            )
        })
    }

    fn by_text(&self, run: &Candidate, words: &[String], tally: &mut Tally) -> Option<String> {
        if !self.asks(LeakBy::Task, run) {
            return None;
        }
        if let Some(entry) = self.short.get(words) {
            return Some(format!(
                "its task is that of record {} of {}",
                entry + 1,
                self.part.name
            ));
        }
        let own: HashSet<u64> = shingles(words).collect();
        let (entry, share) = self.shingles.best(own.into_iter(), tally)?;
        (share >= self.part.similarity).then(|| {
            format!(
                "its task holds {:.0} % of the text of record {} of {}",
                100.0 * share,
                entry + 1,
                self.part.name
            )
        })
    }
}

/// Lower-case words.
fn words(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn shingles(words: &[String]) -> impl Iterator<Item = u64> + '_ {
    words.windows(WORDS).map(|part| {
        let parts: Vec<&str> = part.iter().map(String::as_str).collect();
        fidelake_core::json::key::Key::of_parts(&parts).bits() as u64
    })
}
