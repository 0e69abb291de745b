//! The same comparison, explained path by path.

use super::answer::Answer;
use super::comparer::Comparer;
use super::kinds::{CosmeticKind, DiffKind, Loss, Severity};
use super::observation::ObsGap;
use super::rules::CompiledRules;
use super::tally::Sink;
use crate::json::is_blob;
use crate::json::key::Key;

/// Values are shown up to this many characters.
pub const SHOWN_CHARS: usize = 200;

/// What is lost at one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDiff {
    /// `$.a[0].b`; keys that are no plain names stand as `$["odd key"]`.
    pub path: String,
    /// What kind of difference.
    pub kind: DiffKind,
    /// Which cosmetic difference; set if and only if `kind` is [`DiffKind::Cosmetic`].
    pub cosmetic: Option<CosmeticKind>,
    /// One of the values is a long base64 text, compared by its bytes alone.
    pub blob: bool,
    /// Paths lost here, in `[0, union]`: 1 for a leaf that differs wholly, the
    /// number of leaves for a subtree that one side alone has.
    pub weight: f64,
    /// The left value in canonical JSON (a bare text as it stands), shortened; absent for `extra`.
    pub left: Option<String>,
    /// The right value; absent for `missing`.
    pub right: Option<String>,
}

impl PathDiff {
    /// How much this matters ([`DiffKind::severity`]).
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// The kind, and of a cosmetic difference which: `value`, `cosmetic:letter_case`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.cosmetic {
            Some(cosmetic) => format!("{}:{}", self.kind.name(), cosmetic.name()),
            None => self.kind.name().to_owned(),
        }
    }
}

/// All differences of two answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// In the order of the paths (keys by code point, elements by position); a
    /// difference in the form of the whole answer comes last, at `$`, without values.
    pub paths: Vec<PathDiff>,
    /// Differences beyond the limit.
    pub omitted: u32,
    /// Weight of the omitted ones. All weights together are `gap x union`.
    pub omitted_weight: f64,
    /// The distance itself.
    pub gap: ObsGap,
}

struct Explain {
    limit: usize,
    path: String,
    /// Lengths of `path` to go back to.
    steps: Vec<usize>,
    found: Vec<PathDiff>,
    /// Weights of the differences beyond the limit.
    omitted: Vec<f64>,
}

impl Sink for Explain {
    fn key(&mut self, key: &str) {
        self.steps.push(self.path.len());
        push_key(&mut self.path, key);
    }

    fn index(&mut self, index: u32) {
        self.steps.push(self.path.len());
        self.path.push_str(&format!("[{index}]"));
    }

    fn leave(&mut self) {
        self.path.truncate(self.steps.pop().unwrap_or(1));
    }

    fn lost(&mut self, loss: Loss, left: Option<&str>, right: Option<&str>) {
        if self.found.len() >= self.limit {
            self.omitted.push(loss.weight);
            return;
        }
        self.found.push(PathDiff {
            path: self.path.clone(),
            kind: loss.kind,
            cosmetic: loss.cosmetic,
            blob: left.is_some_and(holds_blob) || right.is_some_and(holds_blob),
            weight: loss.weight,
            left: left.map(shown),
            right: right.map(shown),
        });
    }

    fn mark(&self) -> usize {
        self.found.len() + self.omitted.len()
    }

    fn rewind(&mut self, mark: usize) {
        self.forget(mark);
        self.path.truncate(1);
        self.steps.clear();
    }

    fn relieve(&mut self, mark: usize, share: f64) {
        let weight = match self.found.get_mut(mark) {
            Some(diff) => Some(&mut diff.weight),
            None => self.omitted.get_mut(mark.saturating_sub(self.limit)),
        };
        if let Some(weight) = weight {
            *weight *= share;
        }
    }

    fn reorder(&mut self, mark: usize, weight: f64, left: &str, right: &str) {
        self.forget(mark);
        self.lost(Loss::of(DiffKind::Order, weight), Some(left), Some(right));
    }
}

/// Writes a key (canonical, quotes included) as a step of a path.
pub(super) fn push_key(path: &mut String, key: &str) {
    let inner = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    let plain = inner
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && inner.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if plain {
        path.push('.');
        path.push_str(inner);
    } else {
        path.push('[');
        path.push_str(key);
        path.push(']');
    }
}

impl Explain {
    fn forget(&mut self, mark: usize) {
        self.found.truncate(mark);
        self.omitted.truncate(mark.saturating_sub(self.limit));
    }
}

/// The text of a leaf: a bare one, or a string without escapes (base64 has none but in `\n`).
fn holds_blob(value: &str) -> bool {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.unwrap_or(value);
    inner.starts_with("blob:") || is_blob(inner)
}

/// A blob stands there as `blob:<hash>:<characters>`, as in canonical answers.
fn shown(value: &str) -> String {
    if is_blob(value.trim_matches('"')) {
        let inner = value.trim_matches('"');
        return format!("\"blob:{}:{}\"", Key::of(inner.as_bytes()), inner.len());
    }
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

impl Comparer {
    /// Explains [`Comparer::observe`]: at most `limit` paths, the first ones in order.
    #[must_use]
    pub fn diff(&mut self, left: Answer<'_>, right: Answer<'_>, limit: usize) -> Diff {
        self.diff_with(None, left, right, limit)
    }

    /// As [`Self::diff`], by the rules of the API that answered.
    #[must_use]
    pub fn diff_with(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
        limit: usize,
    ) -> Diff {
        let mut sink = Explain {
            limit,
            path: "$".to_owned(),
            steps: Vec::new(),
            found: Vec::new(),
            omitted: Vec::new(),
        };
        let gap = self.observe_into(rules, left, right, &mut sink);
        Diff {
            paths: sink.found,
            omitted: u32::try_from(sink.omitted.len()).unwrap_or(u32::MAX),
            omitted_weight: sink.omitted.iter().sum(),
            gap,
        }
    }
}
