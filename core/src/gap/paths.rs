//! Where two answers differ, by number: cheap enough for every pair of calls.
//!
//! A path stands here without positions in arrays (`$.items[*].id`), so that the
//! same field is the same path in lists of any length.

use super::answer::Answer;
use super::comparer::Comparer;
use super::identifiers;
use super::kinds::{CosmeticKind, DiffKind, Loss};
use super::observation::ObsGap;
use super::rules::CompiledRules;
use super::tally::Sink;
use super::tokens::hash;

/// So many losses of one pair are kept; what comes after them is not.
pub const LOSSES_KEPT: usize = 1000;

/// What is lost at one path of one pair of answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Hash of the path without positions and of the kind.
    pub id: i64,
    /// What kind of difference.
    pub kind: DiffKind,
    /// Which cosmetic one.
    pub cosmetic: Option<CosmeticKind>,
    /// Paths lost here, in `[0, union]`.
    pub weight: f64,
}

struct Losses<'o> {
    /// Hash of the path down to each step.
    steps: Vec<u64>,
    found: &'o mut Vec<PathLoss>,
    beyond: usize,
    names: Option<&'o mut LossNames>,
}

/// The identifiers under the paths that differ, as [`Diff::identifiers`] has them of the
/// first [`NAMED_LOSSES`], found while the answers are compared.
///
/// [`Diff::identifiers`]: super::Diff::identifiers
#[derive(Clone, Debug, Default)]
pub(super) struct LossNames {
    found: Vec<u64>,
    /// How many there were before each loss.
    ends: Vec<usize>,
}

/// So many differing paths of one pair are looked at for identifiers.
pub(super) const NAMED_LOSSES: usize = 200;

impl LossNames {
    /// What was found, in any order.
    pub(super) fn found(&self) -> &[u64] {
        &self.found
    }

    fn forget(&mut self, mark: usize) {
        if let Some(&end) = self.ends.get(mark) {
            self.found.truncate(end);
            self.ends.truncate(mark);
        }
    }

    fn add(&mut self, values: [Option<&str>; 2]) {
        self.ends.push(self.found.len());
        for value in values.into_iter().flatten() {
            identifiers::of_value(value, &mut self.found);
        }
    }
}

const ROOT: u64 = 0x9E37_79B9_7F4A_7C15;
const ELEMENT: u64 = 0x0BAD_5EED_0BAD_5EED;

fn step(above: u64, name: u64) -> u64 {
    (above ^ name)
        .wrapping_mul(0x9FB2_1C65_1E98_DF25)
        .rotate_left(29)
}

impl Losses<'_> {
    fn here(&self) -> u64 {
        self.steps.last().copied().unwrap_or(ROOT)
    }

    fn forget(&mut self, mark: usize) {
        self.found.truncate(mark);
        self.beyond = self.beyond.min(mark.saturating_sub(LOSSES_KEPT));
        if let Some(names) = &mut self.names {
            names.forget(mark);
        }
    }
}

impl Sink for Losses<'_> {
    fn key(&mut self, key: &str) {
        self.steps.push(step(self.here(), hash(key.as_bytes())));
    }

    fn index(&mut self, _: u32) {
        self.steps.push(step(self.here(), ELEMENT));
    }

    fn leave(&mut self) {
        self.steps.pop();
    }

    fn lost(&mut self, loss: Loss, left: Option<&str>, right: Option<&str>) {
        if self.found.len() < NAMED_LOSSES
            && let Some(names) = &mut self.names
        {
            names.add([left, right]);
        }
        if self.found.len() >= LOSSES_KEPT {
            self.beyond += 1;
            return;
        }
        let Loss {
            weight,
            kind,
            cosmetic,
        } = loss;
        let which = cosmetic.map_or(0, |cosmetic| 1 + cosmetic as u64);
        let kind_number = 1 + kind as u64 + (which << 8);
        self.found.push(PathLoss {
            id: step(self.here(), kind_number).cast_signed(),
            kind,
            cosmetic,
            weight,
        });
    }

    fn mark(&self) -> usize {
        self.found.len() + self.beyond
    }

    fn rewind(&mut self, mark: usize) {
        self.forget(mark);
        self.steps.clear();
    }

    fn relieve(&mut self, mark: usize, share: f64) {
        if let Some(loss) = self.found.get_mut(mark) {
            loss.weight *= share;
        }
    }

    fn reorder(&mut self, mark: usize, weight: f64, left: &str, right: &str) {
        self.forget(mark);
        self.lost(Loss::of(DiffKind::Order, weight), Some(left), Some(right));
    }
}

impl Comparer {
    /// As [`Comparer::observe_with`], and what is lost where: in the order of
    /// [`Comparer::diff`], the first [`LOSSES_KEPT`] of them, into `found`, which
    /// is emptied before.
    pub fn losses(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
        found: &mut Vec<PathLoss>,
    ) -> ObsGap {
        self.losses_into(rules, left, right, found, None)
    }

    /// As [`Self::losses`], with what differs by name, into `names`, which is emptied before.
    pub(super) fn losses_with_names(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
        found: &mut Vec<PathLoss>,
        names: &mut LossNames,
    ) -> ObsGap {
        names.forget(0);
        self.losses_into(rules, left, right, found, Some(names))
    }

    fn losses_into(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
        found: &mut Vec<PathLoss>,
        names: Option<&mut LossNames>,
    ) -> ObsGap {
        found.clear();
        let mut sink = Losses {
            steps: Vec::new(),
            found,
            beyond: 0,
            names,
        };
        self.observe_into(rules, left, right, &mut sink)
    }
}

/// A hash of a difference if it is one of shape alone: only missing, extra, retyped or
/// cosmetically different paths. `losses` are sorted by id, each path once, so the same
/// renamed field hashes alike in lists of any length.
pub(super) fn shape(losses: &[PathLoss]) -> Option<u64> {
    let of_value = |loss: &PathLoss| matches!(loss.kind, DiffKind::Value | DiffKind::Order);
    if losses.is_empty() || losses.iter().any(of_value) {
        return None;
    }
    let hash = |shape, loss: &PathLoss| step(shape, loss.id.cast_unsigned());
    Some(losses.iter().fold(ROOT, hash))
}

/// Every path once, sorted by id.
pub(super) fn merge(losses: &mut Vec<PathLoss>) {
    losses.sort_by_key(|loss| loss.id);
    losses.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.weight += next.weight;
        }
        same
    });
}

/// A path without the positions in arrays: `$.items[3].id` becomes `$.items[*].id`.
#[must_use]
pub fn general_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut quoted = false;
    let mut rest = path.char_indices();
    while let Some((at, c)) = rest.next() {
        out.push(c);
        match c {
            '\\' if quoted => out.extend(rest.next().map(|(_, c)| c)),
            '"' => quoted = !quoted,
            '[' if !quoted => {
                let digits = path[at + 1..]
                    .bytes()
                    .take_while(u8::is_ascii_digit)
                    .count();
                if digits > 0 && path.as_bytes().get(at + 1 + digits) == Some(&b']') {
                    out.push('*');
                    rest.nth(digits - 1);
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_field_has_one_number_in_lists_of_any_length() {
        let mut comparer = Comparer::default();
        let mut found = vec![];
        let (one, two) = (r#"{"a":[{"b":1}]}"#, r#"{"a":[{"b":2}]}"#);
        comparer.losses(None, Answer::json(one), Answer::json(two), &mut found);
        let first = found[0];
        assert_eq!(
            (found.len(), first.kind, first.weight),
            (1, DiffKind::Value, 1.0)
        );
        let (one, two) = (r#"{"a":[{"b":1},{"b":3}]}"#, r#"{"a":[{"b":1},{"b":2}]}"#);
        comparer.losses(None, Answer::json(one), Answer::json(two), &mut found);
        assert_eq!(found, [first]);
        comparer.losses(
            None,
            Answer::json(r#"{"a":1}"#),
            Answer::json(r#"{"a":2}"#),
            &mut found,
        );
        assert_ne!(found[0].id, first.id);
    }

    #[test]
    fn shapes_by_hand() {
        let shape = |left, right| {
            let mut found = vec![];
            let (left, right) = (Answer::json(left), Answer::json(right));
            Comparer::default().losses(None, left, right, &mut found);
            merge(&mut found);
            shape(&found)
        };
        let one = shape(r#"[{"a":1}]"#, r#"[{"b":1}]"#);
        let two = shape(r#"[{"a":1},{"a":"YAX4DR"}]"#, r#"[{"b":7},{"b":2}]"#);
        assert!(one.is_some());
        assert_eq!(one, two);
        assert_eq!(shape("[1]", "[2]"), None);
        assert_eq!(shape("[1]", "[1]"), None);
    }

    #[test]
    fn positions_leave_a_path() {
        assert_eq!(general_path("$.a[0].b[12]"), "$.a[*].b[*]");
        assert_eq!(
            general_path(r#"$["odd [3] \"key"][4]"#),
            r#"$["odd [3] \"key"][*]"#
        );
        assert_eq!(general_path("$"), "$");
    }

    proptest! {
        #[test]
        fn losses_stand_in_the_order_of_the_explanation(a in "\\PC{0,30}", b in "\\PC{0,30}", c in 0u8..4) {
            let wrap = |text: &str| match c {
                0 => serde_free(text),
                1 => format!("[{},1,2]", serde_free(text)),
                2 => format!("{{\"k\":{},\"l\":[]}}", serde_free(text)),
                _ => text.to_owned(),
            };
            let (a, b) = (wrap(&a), wrap(&b));
            let mut comparer = Comparer::default();
            let mut found = vec![];
            let gap = comparer.losses(None, Answer::json(&a), Answer::json(&b), &mut found);
            let diff = comparer.diff(Answer::json(&a), Answer::json(&b), LOSSES_KEPT);
            prop_assert_eq!(gap, diff.gap);
            let kinds: Vec<_> = diff.paths.iter().map(|p| (p.kind, p.weight)).collect();
            prop_assert_eq!(found.iter().map(|l| (l.kind, l.weight)).collect::<Vec<_>>(), kinds);
        }
    }

    /// A JSON string.
    fn serde_free(text: &str) -> String {
        let escaped: String = text
            .chars()
            .flat_map(|c| match c {
                '"' | '\\' => vec!['\\', c],
                c => vec![c],
            })
            .collect();
        format!("\"{escaped}\"")
    }
}
