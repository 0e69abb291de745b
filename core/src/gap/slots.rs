//! Which call is which in any number of runs of one trajectory.

use super::align::{CallRef, align};

/// Gives every call of every run a slot, so that the same call has the same slot
/// in all runs. Runs come in their fixed order (sim first, by repeat), each in the
/// order of its calls. Slots count from 0 in the order of the trajectory; the
/// result has the shape of `runs`, and the number of slots.
#[must_use]
pub fn slots(runs: &[Vec<CallRef<'_>>]) -> (Vec<Vec<usize>>, usize) {
    let Some((first, others)) = runs.split_first() else {
        return (vec![], 0);
    };
    let places = |run: &[CallRef<'_>]| (0..run.len()).collect::<Vec<_>>();
    let same = |run: &&Vec<CallRef<'_>>| {
        run.len() == first.len()
            && run
                .iter()
                .zip(first)
                .all(|(a, b)| (a.turn, a.index, a.name) == (b.turn, b.index, b.name))
    };
    if others.iter().all(|run| same(&run)) && strictly_ordered(first) {
        return (runs.iter().map(|run| places(run)).collect(), first.len());
    }
    // The calls seen so far in order, each by (run, call) of its first run.
    let mut known: Vec<(usize, usize)> = (0..first.len()).map(|call| (0, call)).collect();
    let mut stands_for: Vec<Vec<(usize, usize)>> = vec![known.clone()];
    for (number, run) in runs.iter().enumerate().skip(1) {
        let seen: Vec<CallRef<'_>> = known.iter().map(|&(r, c)| runs[r][c]).collect();
        let mut merged = Vec::with_capacity(known.len() + run.len());
        let mut own = vec![(number, 0); run.len()];
        for (left, right) in align(&seen, run) {
            let slot = match (left, right) {
                (Some(left), _) => known[left],
                (None, right) => (number, right.unwrap_or_default()),
            };
            merged.push(slot);
            if let Some(right) = right {
                own[right] = slot;
            }
        }
        known = merged;
        stands_for.push(own);
    }
    let mut number: Vec<Vec<usize>> = runs.iter().map(|run| vec![0; run.len()]).collect();
    for (slot, &(run, call)) in known.iter().enumerate() {
        number[run][call] = slot;
    }
    let found = stands_for
        .iter()
        .map(|own| own.iter().map(|&(run, call)| number[run][call]).collect())
        .collect();
    (found, known.len())
}

/// No two calls of a run at one place: then equal places are equal calls.
fn strictly_ordered(run: &[CallRef<'_>]) -> bool {
    run.windows(2)
        .all(|pair| (pair[0].turn, pair[0].index) < (pair[1].turn, pair[1].index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(turn: i32, name: &str) -> CallRef<'_> {
        CallRef {
            turn,
            index: 0,
            name,
            key: u128::from(name.as_bytes()[0]),
        }
    }

    #[test]
    fn a_call_that_one_run_lacks_takes_a_slot_of_its_own() {
        let whole = vec![call(0, "a"), call(1, "b"), call(2, "c")];
        let short = vec![call(0, "a"), call(1, "c")];
        let (found, count) = slots(&[short.clone(), whole.clone(), short]);
        assert_eq!(count, 3);
        assert_eq!(found, [vec![0, 2], vec![0, 1, 2], vec![0, 2]]);
        let (found, count) = slots(&[whole.clone(), whole]);
        assert_eq!((found, count), (vec![vec![0, 1, 2]; 2], 3));
        assert_eq!(slots(&[]), (vec![], 0));
        assert_eq!(slots(&[vec![], vec![call(0, "a")]]).1, 1);
    }
}
