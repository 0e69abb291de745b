//! Frequent sequences of calls, and whether what came before matters.

use std::collections::BTreeMap;

/// A sequence of calls that ends in calls of low fidelity.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The tools, in order; at least two.
    pub tools: Vec<u32>,
    /// How often it was made.
    pub calls: u64,
    /// How often its last call was of low fidelity.
    pub low: u64,
    /// The share of low fidelity at its end, over that of its last tool alone: above 1,
    /// what came before makes it worse.
    pub lift: f64,
}

/// The sequences of 2 to `longest` calls in a row, made at least `least` times, whose last
/// call was at least once of low fidelity; the highest number of low calls first, then the
/// highest lift. A trajectory is its tools in order, each with whether the call was low.
///
/// lift = P(low at the end | sequence) / P(low | last tool), over the calls that have
/// something before them at all.
#[must_use]
pub fn sequences(trajectories: &[Vec<(u32, bool)>], longest: usize, least: u64) -> Vec<Sequence> {
    let mut counts: BTreeMap<&[(u32, bool)], [u64; 2]> = BTreeMap::new();
    let mut alone: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for trajectory in trajectories {
        for end in 1..trajectory.len() {
            let low = u64::from(trajectory[end].1);
            let tool = alone.entry(trajectory[end].0).or_default();
            tool[0] += 1;
            tool[1] += low;
            for length in 2..=longest.min(end + 1) {
                let window = &trajectory[end + 1 - length..=end];
                counts.entry(window).or_default()[0] += 1;
            }
        }
    }
    // Windows that differ only in what was low before their end are one sequence.
    let mut by_tools: BTreeMap<Vec<u32>, [u64; 2]> = BTreeMap::new();
    for (window, [calls, _]) in counts {
        let tools: Vec<u32> = window.iter().map(|call| call.0).collect();
        let entry = by_tools.entry(tools).or_default();
        entry[0] += calls;
        if window.last().is_some_and(|call| call.1) {
            entry[1] += calls;
        }
    }
    let mut out: Vec<Sequence> = by_tools
        .into_iter()
        .filter(|(_, [calls, low])| *calls >= least && *low > 0)
        .filter_map(|(tools, [calls, low])| {
            let [all, all_low] = *alone.get(tools.last()?)?;
            let base = all_low as f64 / all as f64;
            let lift = (low as f64 / calls as f64) / base;
            Some(Sequence {
                tools,
                calls,
                low,
                lift,
            })
        })
        .collect();
    out.sort_by(|a, b| {
        let order = b.low.cmp(&a.low).then(b.lift.total_cmp(&a.lift));
        order.then_with(|| a.tools.cmp(&b.tools))
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lift_by_hand() {
        // Tool 2 is low after 1 (twice of twice), never after 3 (twice).
        let after = |first| vec![(first, false), (2, first == 1)];
        let found = sequences(&[after(1), after(1), after(3), after(3)], 4, 2);
        // P(low | 1 2) = 1 over P(low | 2) = 1/2; 3 2 is never low and is left out.
        assert_eq!(
            found,
            [Sequence {
                tools: vec![1, 2],
                calls: 2,
                low: 2,
                lift: 2.0
            }]
        );
        assert!(sequences(&[after(1)], 4, 2).is_empty());
        assert!(sequences(&[], 4, 1).is_empty());
    }

    #[test]
    fn what_was_low_before_the_end_does_not_split_a_sequence() {
        let found = sequences(
            &[vec![(1, true), (2, true)], vec![(1, false), (2, true)]],
            3,
            2,
        );
        assert_eq!((found[0].calls, found[0].low, found[0].lift), (2, 2, 1.0));
        // Three in a row make two pairs and one triple.
        let found = sequences(&[vec![(1, false), (1, true), (1, true)]], 3, 1);
        let counts: Vec<_> = found.iter().map(|s| (s.tools.len(), s.calls)).collect();
        assert_eq!(counts, [(2, 2), (3, 1)]);
    }
}
