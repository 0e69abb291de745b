//! The same comparison, explained path by path.

use super::answer::{Answer, DiffKind};
use super::observation::{Comparer, ObsGap};
use super::walk::Sink;

/// Values are shown up to this many characters.
pub const SHOWN_CHARS: usize = 200;

/// What is lost at one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDiff {
    /// `$.a[0].b`; keys that are no plain names stand as `$["odd key"]`.
    pub path: String,
    /// What kind of difference.
    pub kind: DiffKind,
    /// Paths lost here, in `[0, union]`: 1 for a leaf that differs wholly, the
    /// number of leaves for a subtree that one side alone has.
    pub weight: f64,
    /// The left value in canonical JSON (a bare text as it stands), shortened; absent for `extra`.
    pub left: Option<String>,
    /// The right value; absent for `missing`.
    pub right: Option<String>,
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
        let inner = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        let plain = inner
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && inner.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        if plain {
            self.path.push('.');
            self.path.push_str(inner);
        } else {
            self.path.push('[');
            self.path.push_str(key);
            self.path.push(']');
        }
    }

    fn index(&mut self, index: u32) {
        self.steps.push(self.path.len());
        self.path.push_str(&format!("[{index}]"));
    }

    fn leave(&mut self) {
        self.path.truncate(self.steps.pop().unwrap_or(1));
    }

    fn lost(&mut self, kind: DiffKind, weight: f64, left: Option<&str>, right: Option<&str>) {
        if self.found.len() >= self.limit {
            self.omitted.push(weight);
            return;
        }
        self.found.push(PathDiff {
            path: self.path.clone(),
            kind,
            weight,
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

    fn reorder(&mut self, mark: usize, weight: f64, left: &str, right: &str) {
        self.forget(mark);
        self.lost(DiffKind::Order, weight, Some(left), Some(right));
    }
}

impl Explain {
    fn forget(&mut self, mark: usize) {
        self.found.truncate(mark);
        self.omitted.truncate(mark.saturating_sub(self.limit));
    }
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

impl Comparer {
    /// Explains [`Comparer::observe`]: at most `limit` paths, the first ones in order.
    #[must_use]
    pub fn diff(&mut self, left: Answer<'_>, right: Answer<'_>, limit: usize) -> Diff {
        let mut sink = Explain {
            limit,
            path: "$".to_owned(),
            steps: Vec::new(),
            found: Vec::new(),
            omitted: Vec::new(),
        };
        let gap = self.observe_into(left, right, &mut sink);
        Diff {
            paths: sink.found,
            omitted: u32::try_from(sink.omitted.len()).unwrap_or(u32::MAX),
            omitted_weight: sink.omitted.iter().sum(),
            gap,
        }
    }
}
