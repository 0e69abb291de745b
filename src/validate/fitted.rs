//! Weights of the dimensions, fitted to the harm of groups. Only where asked for.
//!
//! Harm = floor + w (obs + act + rew + ..) + sum of d_k times dimension k, with w and all
//! d_k not negative and only the d_k penalised: a strong penalty leaves the decision
//! gap as it is defined, every dimension weighing the same. The floor is no parameter: it
//! is the harm that was measured where nothing differs, 0 where nobody measured it. A
//! group without a gap has nothing else to lose, whichever groups were seen.

use fidelake_core::stats::{ridge_from, spearman};

use super::family::Family;
use super::found::Fitted;
use super::scores::ByGroup;

/// Tried in this order; of equals the first holds. The dimensions have a variance of
/// about .001 over groups.
const LAMBDAS: [f64; 5] = [1.0, 0.01, 0.001, 0.0001, 0.0];

const NAMES: [&str; 4] = ["obs", "act", "rew", "trans"];

struct Table {
    /// Their sum, then the dimensions that are known of every group.
    rows: Vec<Vec<f64>>,
    harm: Vec<f64>,
    /// Harm without any gap.
    floor: f64,
}

/// A weight of every column.
type Model = Vec<f64>;

impl Table {
    fn fit(&self, kept: &[usize], lambda: f64) -> Option<Model> {
        let rows = kept.iter().map(|&at| self.rows[at].clone());
        let harm: Vec<f64> = kept.iter().map(|&at| self.harm[at]).collect();
        let mut penalties = vec![lambda; self.rows.first()?.len()];
        penalties[0] = 0.0;
        ridge_from(&rows.collect::<Vec<_>>(), &harm, &penalties, self.floor)
    }

    fn guess(&self, weights: &Model, at: usize) -> f64 {
        let terms = self.rows[at].iter().zip(weights);
        self.floor + terms.map(|(x, w)| x * w).sum::<f64>()
    }

    /// The penalty with the smallest squared error over groups left out one at a time.
    fn lambda(&self, kept: &[usize]) -> Option<f64> {
        let mut best: Option<(f64, f64)> = None;
        for lambda in LAMBDAS {
            let mut error = 0.0;
            for &out in kept {
                let rest: Vec<usize> = kept.iter().copied().filter(|&at| at != out).collect();
                let model = self.fit(&rest, lambda)?;
                error += (self.guess(&model, out) - self.harm[out]).powi(2);
            }
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, lambda));
            }
        }
        best.map(|(_, lambda)| lambda)
    }

    /// One rank correlation over all groups in `parts`, each guessed by a model that
    /// saw nothing of its part: neither for its weights nor for its penalty.
    fn held_out(&self, parts: &[Vec<usize>]) -> Option<f64> {
        let (mut harm, mut guesses) = (Vec::new(), Vec::new());
        for part in parts {
            let kept: Vec<usize> = (0..self.rows.len())
                .filter(|at| !part.contains(at))
                .collect();
            let model = self.fit(&kept, self.lambda(&kept)?)?;
            for &at in part {
                harm.push(self.harm[at]);
                guesses.push(self.guess(&model, at));
            }
        }
        spearman(&harm, &guesses)
    }
}

/// Non-negative weights of the known dimensions. `None` below four groups.
pub(super) fn fitted(
    labels: &[&str],
    harm: &ByGroup,
    parts: &[ByGroup; 4],
    families: &[Family],
    floor: Option<f64>,
) -> Option<Fitted> {
    const LEAST: usize = 4;

    let known: Vec<usize> = (0..4)
        .filter(|&part| parts[part].iter().all(Option::is_some))
        .collect();
    let there: Vec<usize> = (0..harm.len()).filter(|&at| harm[at].is_some()).collect();
    if known.is_empty() || there.len() < LEAST {
        return None;
    }
    let row = |&at: &usize| -> Vec<f64> {
        let own: Vec<f64> = known.iter().filter_map(|&part| parts[part][at]).collect();
        std::iter::once(own.iter().sum())
            .chain(own.iter().copied())
            .collect()
    };
    let table = Table {
        rows: there.iter().map(row).collect(),
        harm: there.iter().filter_map(|&at| harm[at]).collect(),
        floor: floor.unwrap_or_default(),
    };
    let all: Vec<usize> = (0..there.len()).collect();
    let lambda = table.lambda(&all)?;
    let weights = table.fit(&all, lambda)?;
    let names = known.iter().map(|&part| NAMES[part].to_owned());
    let singly: Vec<Vec<usize>> = all.iter().map(|&at| vec![at]).collect();
    let of_family = |family: &Family| -> Vec<usize> {
        let own = all.iter().copied();
        own.filter(|&row| family.has(labels[there[row]])).collect()
    };
    let by_family: Vec<Vec<usize>> = families.iter().map(of_family).collect();
    let shared = weights[0];
    Some(Fitted {
        weights: names
            .zip(weights[1..].iter().map(|own| shared + own))
            .collect(),
        bias: table.floor,
        lambda,
        groups: there.iter().map(|&at| labels[at].to_owned()).collect(),
        families: families.iter().map(Family::text).collect(),
        leave_one_out: table.held_out(&singly),
        leave_one_family_out: (!families.is_empty())
            .then(|| table.held_out(&by_family))
            .flatten(),
    })
}
