//! What varies between the runs of one arm.

use super::{RunCall, members, run};
use crate::gap::comparer::Comparer;
use crate::gap::varied::Varied;
use crate::model::Arm;

/// One path at which two runs of one arm answered the same call differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation<'a> {
    /// The tool.
    pub api: &'a str,
    /// The arm that was repeated.
    pub arm: Arm,
    /// `$.items[*].id`.
    pub path: String,
    /// How the values differ.
    pub how: Varied,
}

/// What varies between repeats of one trajectory: every pair of runs of one arm, at
/// calls that ended alike. `calls` come in any order. Rules do not hold here: what is
/// ignored already cannot be learned from what is left.
pub fn variations<'a>(
    calls: &[RunCall<'a>],
    comparer: &mut Comparer,
    mut found: impl FnMut(Variation<'a>),
) {
    let order = run::order(calls);
    for rows in members(calls, &order) {
        for (at, &a) in rows.iter().enumerate() {
            for &b in &rows[at + 1..] {
                let (left, right) = (&calls[a], &calls[b]);
                let alike = left.arm == right.arm
                    && left.outcome.is_some()
                    && left.outcome == right.outcome
                    && left.answer != right.answer;
                if !alike {
                    continue;
                }
                comparer.varied(left.answer, right.answer, |path, how| {
                    found(Variation {
                        api: left.name,
                        arm: left.arm,
                        path: path.to_owned(),
                        how,
                    });
                });
            }
        }
    }
}
