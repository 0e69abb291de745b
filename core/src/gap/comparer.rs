//! Who compares: rules and buffers that outlive a pair.

use super::answer::Answer;
use super::guide::{Free, Guided, Trail};
use super::kinds::Rules;
use super::leaf::Context;
use super::observation::{ObsGap, finish};
use super::pair::Pair;
use super::rules::CompiledRules;
use super::tally::{Quiet, Sink};
use super::tokens::Bags;

/// Compares answers, keeping its buffers from pair to pair.
///
/// ```
/// use fidelake_core::gap::{Answer, Comparer};
/// let mut comparer = Comparer::default();
/// let gap = comparer.observe(Answer::json(r#"{"a":1,"b":2}"#), Answer::json(r#"{"a":1,"c":2}"#));
/// assert_eq!((gap.shared, gap.union), (1, 3));
/// assert!((gap.gap - 2.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Comparer {
    rules: Rules,
    bags: Bags,
    trail: Trail,
}

impl Comparer {
    /// A comparer with these rules.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// The distance of two answers; symmetric but for `missing` and `extra`.
    #[must_use]
    pub fn observe(&mut self, left: Answer<'_>, right: Answer<'_>) -> ObsGap {
        self.observe_into(None, left, right, &mut Quiet)
    }

    /// As [`Self::observe`], by the rules of the API that answered. Without rules
    /// there is no price for them.
    #[must_use]
    pub fn observe_with(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
    ) -> ObsGap {
        self.observe_into(rules, left, right, &mut Quiet)
    }

    pub(super) fn observe_into<S: Sink>(
        &mut self,
        rules: Option<&CompiledRules>,
        left: Answer<'_>,
        right: Answer<'_>,
        sink: &mut S,
    ) -> ObsGap {
        let context = Context {
            rules: &self.rules,
            bags: &mut self.bags,
            level: 0,
        };
        let tally = match rules.filter(|rules| !rules.is_empty()) {
            Some(rules) => {
                let guide = Guided::new(rules, &mut self.trail);
                Pair {
                    context,
                    sink,
                    guide,
                }
                .compare(left, right)
            }
            None => Pair {
                context,
                sink,
                guide: Free,
            }
            .compare(left, right),
        };
        let equal = left.form == right.form && left.text == right.text;
        finish(&tally, equal, left, right)
    }
}
