//! What judges say of two runs, and which calls an arm refuses
//! (docs/measures.md, "Decision gap": reward gap of runs, action gap of calls).
//!
//! Each distance is one of a pair of runs: corrected by [`super::correct`] with
//! the same judge's disagreement about repeats of one arm.

/// What one judge said of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judged<'a> {
    /// The reward, where given.
    pub reward: Option<f64>,
    /// Success, where given.
    pub success: Option<bool>,
    /// Scores of single criteria, each in `[0,1]`; names are distinct.
    pub criteria: &'a [(&'a str, f64)],
}

/// How far apart one judge sees two runs; every part in `[0,1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerdictGap {
    /// `|a - b| / scale`, at most 1.
    pub reward: Option<f64>,
    /// 1 if success differs.
    pub success: Option<f64>,
    /// Mean absolute difference over the criteria of either run; one that is scored
    /// in one run only counts 1. Unknown if a run has none: a judge who gave no
    /// criteria did not contradict those of the other run.
    pub criteria: Option<f64>,
    /// Mean of the parts that are known.
    pub distance: f64,
}

/// The distance of two verdicts of the same judge. `scale` is the range of this
/// judge's rewards (1 for rewards in `[0,1]`; not positive counts as 1). A part is
/// known if both runs have it; `None` if none is. Several judges or runs:
/// [`super::verdicts_gap`].
#[must_use]
pub fn verdict_gap(left: &Judged<'_>, right: &Judged<'_>, scale: f64) -> Option<VerdictGap> {
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let reward = left
        .reward
        .zip(right.reward)
        .filter(|(a, b)| a.is_finite() && b.is_finite())
        .map(|(a, b)| ((a - b).abs() / scale).min(1.0));
    let success = left
        .success
        .zip(right.success)
        .map(|(a, b)| f64::from(u8::from(a != b)));
    let criteria = criteria(left.criteria, right.criteria);
    let known: Vec<f64> = [reward, success, criteria].into_iter().flatten().collect();
    Some(VerdictGap {
        reward,
        success,
        criteria,
        distance: crate::stats::mean(&known)?,
    })
}

fn criteria(left: &[(&str, f64)], right: &[(&str, f64)]) -> Option<f64> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let find = |list: &[(&str, f64)], name: &str| {
        list.iter()
            .find(|(n, _)| *n == name)
            .map(|&(_, score)| score)
    };
    let both = left.iter().map(|&(name, score)| match find(right, name) {
        Some(other) if (score - other).is_finite() => (score - other).abs().min(1.0),
        _ => 1.0,
    });
    let alone = right
        .iter()
        .filter(|(name, _)| find(left, name).is_none())
        .map(|_| 1.0);
    crate::stats::mean(&both.chain(alone).collect::<Vec<_>>())
}

/// Whether an outcome says that the arm refused the tool or the arguments.
#[must_use]
pub fn is_refusal(outcome: &str) -> bool {
    matches!(outcome, "unknown_tool" | "invalid_arguments")
}

/// 1 if one arm refuses the tool or the arguments that the other accepts, else 0.
#[must_use]
pub fn acceptance_distance(left: &str, right: &str) -> f64 {
    f64::from(u8::from(is_refusal(left) != is_refusal(right)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn verdicts_by_hand() {
        let left = Judged {
            reward: Some(1.0),
            success: Some(true),
            criteria: &[("a", 1.0), ("b", 0.5)],
        };
        let right = Judged {
            reward: Some(0.5),
            success: Some(true),
            criteria: &[("b", 0.0), ("c", 1.0)],
        };
        // reward .5, success 0, criteria (1 + .5 + 1)/3.
        let gap = verdict_gap(&left, &right, 1.0).unwrap();
        assert_eq!((gap.reward, gap.success), (Some(0.5), Some(0.0)));
        assert!((gap.criteria.unwrap() - 2.5 / 3.0).abs() < 1e-12);
        assert!((gap.distance - (0.5 + 2.5 / 3.0) / 3.0).abs() < 1e-12);
        let only = Judged {
            reward: Some(3.0),
            ..Judged::default()
        };
        assert_eq!(verdict_gap(&only, &right, 10.0).unwrap().reward, Some(0.25));
        assert_eq!(verdict_gap(&Judged::default(), &only, 1.0), None);
        // Silence about criteria is no contradiction.
        assert_eq!(verdict_gap(&only, &right, 10.0).unwrap().criteria, None);
        let silent = Judged {
            criteria: &[],
            ..left
        };
        assert_eq!(verdict_gap(&silent, &left, 1.0).unwrap().distance, 0.0);
    }

    #[test]
    fn acceptance_by_hand() {
        assert_eq!(acceptance_distance("ok", "unknown_tool"), 1.0);
        assert_eq!(
            acceptance_distance("invalid_arguments", "unknown_tool"),
            0.0
        );
        assert_eq!(acceptance_distance("ok", "not_found"), 0.0);
    }

    proptest! {
        #[test]
        fn symmetric_and_bounded(a in prop::option::of(-2.0f64..2.0), b in prop::option::of(-2.0f64..2.0), s in any::<Option<bool>>(), c in 0.0f64..1.0) {
            let scores = [("x", c)];
            let left = Judged { reward: a, success: s, criteria: &scores };
            let other = [("x", 0.5), ("y", 1.0)];
            let right = Judged { reward: b, success: Some(true), criteria: &other };
            let gap = verdict_gap(&left, &right, 1.0).unwrap();
            prop_assert!((0.0..=1.0).contains(&gap.distance));
            prop_assert_eq!(gap.distance, verdict_gap(&right, &left, 1.0).unwrap().distance);
            prop_assert_eq!(verdict_gap(&left, &left, 1.0).unwrap().distance, 0.0);
        }
    }
}
