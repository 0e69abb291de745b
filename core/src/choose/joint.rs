//! The joint gate of fidelity and difficulty (docs/measures.md, "Joint gate with difficulty").
//!
//! A gate alone takes more weight from hard tasks, since their long runs differ
//! more. The factor c_b of a stratum of difficulty gives it its share back, but
//! never to rows that only the simulator can solve (v = 0).

use crate::stats::ExactSum;

/// The least and the largest factor.
pub const FACTOR_RANGE: (f64, f64) = (0.5, 3.0);

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Smoothed pass rate of its task, in `(0, 1)`.
    pub pass_rate: f64,
    /// Number of its trajectory: strata are counted in trajectories.
    pub trajectory: u32,
    /// v: false if the real world failed at the same actions for a cause of its own.
    pub feasible: bool,
    /// g, in `[0,1]`.
    pub gate: f64,
}

/// Rows of about the same difficulty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stratum {
    /// From this pass rate on.
    pub from: f64,
    /// Below this one; the last holds it.
    pub to: f64,
    /// Trajectories.
    pub trajectories: usize,
    /// Rows.
    pub rows: usize,
    /// Share of v before: sum_b v / sum v.
    pub share: f64,
    /// Share of v g: what the gate alone leaves.
    pub share_gated: f64,
    /// Share of w = v g c_b.
    pub share_joint: f64,
    /// c_b.
    pub factor: f64,
    /// The factor would have been outside its range.
    pub clipped: bool,
}

/// All strata, and the stratum of every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// From the hardest to the easiest.
    pub strata: Vec<Stratum>,
    /// By row.
    pub of: Vec<usize>,
}

/// Cuts `(0,1)` into `strata` equal parts, merges those with fewer than `least`
/// trajectories with the smaller of their neighbours, and computes
/// `c_b = clip((sum_b v / sum v) / (sum_b v g / sum v g), .5, 3)`. A stratum without
/// feasible rows, and every one if nothing has weight, keeps the factor 1.
#[must_use]
pub fn joint(rows: &[Member], strata: usize, least: usize) -> Joint {
    let strata = strata.max(1);
    let bin = |rate: f64| ((rate.clamp(0.0, 1.0) * strata as f64) as usize).min(strata - 1);
    let mut seen: Vec<Vec<u32>> = vec![Vec::new(); strata];
    for row in rows {
        seen[bin(row.pass_rate)].push(row.trajectory);
    }
    let mut parts: Vec<(usize, usize, usize)> = seen
        .into_iter()
        .enumerate()
        .map(|(at, mut ids)| {
            ids.sort_unstable();
            ids.dedup();
            (at, at + 1, ids.len())
        })
        .collect();
    while parts.len() > 1 {
        let Some(small) = (0..parts.len()).min_by_key(|at| parts[*at].2) else {
            break;
        };
        if parts[small].2 >= least {
            break;
        }
        let left = small.checked_sub(1);
        let right = (small + 1 < parts.len()).then_some(small + 1);
        let with = match (left, right) {
            (Some(l), Some(r)) if parts[r].2 < parts[l].2 => r,
            (Some(l), _) => l,
            (None, Some(r)) => r,
            (None, None) => break,
        };
        let (low, high) = (small.min(with), small.max(with));
        // A trajectory has one task, hence one pass rate: the counts add up.
        parts[low] = (parts[low].0, parts[high].1, parts[low].2 + parts[high].2);
        parts.remove(high);
    }
    let of: Vec<usize> = rows
        .iter()
        .map(|row| {
            let at = bin(row.pass_rate);
            parts
                .iter()
                .position(|part| at < part.1)
                .unwrap_or_default()
        })
        .collect();
    let found = weigh(rows, &of, &parts, strata);
    Joint { strata: found, of }
}

fn weigh(
    rows: &[Member],
    of: &[usize],
    parts: &[(usize, usize, usize)],
    strata: usize,
) -> Vec<Stratum> {
    let mut sums: Vec<[ExactSum; 2]> = parts.iter().map(|_| Default::default()).collect();
    let mut all: [ExactSum; 2] = Default::default();
    let mut counts = vec![0; parts.len()];
    for (row, at) in rows.iter().zip(of) {
        counts[*at] += 1;
        if row.feasible {
            for sum in [&mut sums[*at], &mut all] {
                sum[0].add(1.0);
                sum[1].add(row.gate);
            }
        }
    }
    let all = all.each_ref().map(ExactSum::value);
    let share = |sum: f64, of: f64| if of > 0.0 { sum / of } else { 0.0 };
    let mut found: Vec<Stratum> = parts
        .iter()
        .zip(&sums)
        .zip(counts)
        .map(|((part, sums), rows)| {
            let [v, vg] = sums.each_ref().map(ExactSum::value);
            let (before, after) = (share(v, all[0]), share(vg, all[1]));
            let raw = if before == 0.0 || all[1] == 0.0 {
                1.0
            } else {
                before / after
            };
            let factor = raw.clamp(FACTOR_RANGE.0, FACTOR_RANGE.1);
            Stratum {
                from: part.0 as f64 / strata as f64,
                to: part.1 as f64 / strata as f64,
                trajectories: part.2,
                rows,
                share: before,
                share_gated: after,
                share_joint: vg * factor,
                factor,
                clipped: raw != factor,
            }
        })
        .collect();
    let weight: ExactSum = found.iter().map(|s| s.share_joint).collect();
    let weight = weight.value();
    found
        .iter_mut()
        .for_each(|s| s.share_joint = share(s.share_joint, weight));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(pass_rate: f64, trajectory: u32, feasible: bool, gate: f64) -> Member {
        Member {
            pass_rate,
            trajectory,
            feasible,
            gate,
        }
    }

    #[test]
    fn shares_by_hand() {
        // Hard: v 1, 1, 0, g .2, .4, 1. Easy: v 1, 1, g 1, .8.
        let rows = [
            row(0.1, 0, true, 0.2),
            row(0.1, 1, true, 0.4),
            row(0.1, 2, false, 1.0),
            row(0.9, 3, true, 1.0),
            row(0.9, 4, true, 0.8),
        ];
        let found = joint(&rows, 2, 1);
        assert_eq!(found.of, [0, 0, 0, 1, 1]);
        let [hard, easy] = found.strata.as_slice() else {
            panic!()
        };
        // (2/4) / (.6/2.4) = 2; (2/4) / (1.8/2.4) = 2/3.
        assert!((hard.factor - 2.0).abs() < 1e-12 && (easy.factor - 2.0 / 3.0).abs() < 1e-12);
        assert!((hard.share_joint - 0.5).abs() < 1e-12 && (hard.share_gated - 0.25).abs() < 1e-12);
        assert!(!hard.clipped && (hard.trajectories, hard.rows) == (3, 3));
    }

    #[test]
    fn small_strata_merge_and_clips_are_said() {
        let rows = [
            row(0.1, 0, true, 0.01),
            row(0.3, 1, true, 1.0),
            row(0.5, 2, true, 1.0),
            row(0.9, 3, true, 1.0),
            row(0.9, 4, true, 1.0),
        ];
        let found = joint(&rows, 5, 2);
        // .1 joins .3; .5 and the empty fourth join, and then the smaller neighbour.
        assert!(
            found.strata.iter().all(|s| s.trajectories >= 2),
            "{found:?}"
        );
        let alone = joint(&rows, 5, 1);
        assert!(alone.strata[0].clipped && alone.strata[0].factor == 3.0);
        assert_eq!(joint(&rows, 5, 100).strata.len(), 1);
        assert!(joint(&[], 5, 20).of.is_empty());
        let nothing = joint(&[row(0.5, 0, false, 1.0)], 1, 1);
        assert_eq!(
            (nothing.strata[0].factor, nothing.strata[0].share),
            (1.0, 0.0)
        );
        let no_weight = joint(&[row(0.5, 0, true, 0.0)], 1, 1);
        assert_eq!(no_weight.strata[0].factor, 1.0);
    }

    proptest! {
        #[test]
        fn shares_are_kept_where_no_clip_is_hit(rows in prop::collection::vec((0.0f64..1.0, any::<bool>(), 0.05f64..1.0), 1..60)) {
            let rows: Vec<Member> = rows.into_iter().zip(0..).map(|((rate, v, g), at)| row(rate, at, v, g)).collect();
            let found = joint(&rows, 5, 4);
            let trajectories: usize = found.strata.iter().map(|s| s.trajectories).sum();
            prop_assert_eq!(trajectories, rows.len());
            if found.strata.iter().all(|s| !s.clipped) {
                for s in &found.strata {
                    prop_assert!((s.share - s.share_joint).abs() < 1e-9);
                }
            }
        }
    }
}
