//! Single pairs of a trajectory and an agent: a correlation over groups says nothing of them.

use fidelake_core::stats::auc;

use super::data::Data;
use super::found::{Auc, Bin};

/// A pair that was right on sim: its gaps, and whether it is wrong on real.
struct Tried {
    decision: f64,
    surface: Option<f64>,
    broken: bool,
}

fn tried(data: &Data, used: &[usize]) -> Vec<Tried> {
    let right = data.judged.iter().filter(|judged| judged.sim > 0.5);
    let tried = right.filter_map(|judged| {
        let item = &data.items[judged.item];
        // Floored for itself: here every trajectory is its own aggregate.
        let decision = item.signed?.clamp(0.0, 1.0);
        used.contains(&item.group).then_some(Tried {
            decision,
            surface: item.surface,
            broken: judged.real <= 0.5,
        })
    });
    tried.collect()
}

/// How well the gaps tell pairs that stay right from pairs that break, and how many
/// break at which gap.
pub(super) fn pairs(data: &Data, used: &[usize]) -> (Auc, Vec<Bin>) {
    let mut tried = tried(data, used);
    let of = |gap: &dyn Fn(&Tried) -> Option<f64>| {
        let side = |broken: bool| -> Vec<f64> {
            let side = tried.iter().filter(|one| one.broken == broken);
            side.filter_map(gap).collect()
        };
        auc(&side(true), &side(false))
    };
    let areas = Auc {
        decision: of(&|one| Some(one.decision)),
        surface: of(&|one| one.surface),
        pairs: tried.len() as u64,
        broken: tried.iter().filter(|one| one.broken).count() as u64,
    };
    tried.sort_by(|a, b| a.decision.total_cmp(&b.decision));
    (areas, deciles(&tried))
}

/// Ten parts of about the same size; equal gaps stay together, so there may be fewer.
fn deciles(sorted: &[Tried]) -> Vec<Bin> {
    const PARTS: usize = 10;

    let mut bins = Vec::new();
    let mut from = 0;
    for part in 1..=PARTS {
        let mut to = (sorted.len() * part).div_ceil(PARTS);
        while to > 0 && to < sorted.len() && sorted[to].decision == sorted[to - 1].decision {
            to += 1;
        }
        let Some(own) = sorted.get(from..to).filter(|own| !own.is_empty()) else {
            continue;
        };
        let broken = own.iter().filter(|one| one.broken).count();
        let n = own.len() as f64;
        bins.push(Bin {
            from: own[0].decision,
            to: own[own.len() - 1].decision,
            gap: own.iter().map(|one| one.decision).sum::<f64>() / n,
            pairs: own.len() as u64,
            broken: broken as u64,
            harm: broken as f64 / n,
        });
        from = to;
    }
    bins
}
