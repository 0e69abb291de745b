//! Weights of the dimensions, fitted to the harm of groups. Only where asked for.

use fidelake_core::stats::{ridge, spearman};

use super::family::Family;
use super::found::Fitted;
use super::scores::ByGroup;

/// Tried in this order; of equals the first holds.
const LAMBDAS: [f64; 5] = [0.1, 0.01, 0.001, 0.0001, 0.0];

const NAMES: [&str; 4] = ["obs", "act", "rew", "trans"];

struct Table {
    /// Dimensions that are known of every group.
    names: Vec<&'static str>,
    rows: Vec<Vec<f64>>,
    harm: Vec<f64>,
}

impl Table {
    /// Every group as a model without those in `of` would have it.
    fn held_out(&self, parts: &[Vec<usize>], lambda: f64) -> Option<Vec<(f64, f64)>> {
        let mut pairs = Vec::new();
        for part in parts {
            let kept = (0..self.rows.len()).filter(|at| !part.contains(at));
            let (x, y): (Vec<_>, Vec<_>) = kept
                .map(|at| (self.rows[at].clone(), self.harm[at]))
                .unzip();
            let (bias, weights) = ridge(&x, &y, lambda)?;
            pairs.extend(part.iter().map(|&at| {
                let terms = self.rows[at].iter().zip(&weights);
                let guess = bias + terms.map(|(x, w)| x * w).sum::<f64>();
                (self.harm[at], guess)
            }));
        }
        Some(pairs)
    }

    fn rho(&self, parts: &[Vec<usize>], lambda: f64) -> Option<f64> {
        let (harm, guess): (Vec<_>, Vec<_>) = self.held_out(parts, lambda)?.into_iter().unzip();
        spearman(&harm, &guess)
    }

    fn error(&self, parts: &[Vec<usize>], lambda: f64) -> Option<f64> {
        let pairs = self.held_out(parts, lambda)?;
        Some(pairs.iter().map(|(a, b)| (a - b).powi(2)).sum())
    }
}

/// Non-negative weights of the known dimensions; the regularisation is the one with
/// the smallest squared error over groups left out one at a time. `None` below four groups.
pub(super) fn fitted(
    labels: &[&str],
    harm: &ByGroup,
    parts: &[ByGroup; 4],
    families: &[Family],
) -> Option<Fitted> {
    const LEAST: usize = 4;

    let known: Vec<usize> = (0..4)
        .filter(|&part| parts[part].iter().all(Option::is_some))
        .collect();
    let there: Vec<usize> = (0..harm.len()).filter(|&at| harm[at].is_some()).collect();
    if known.is_empty() || there.len() < LEAST {
        return None;
    }
    let table = Table {
        names: known.iter().map(|&part| NAMES[part]).collect(),
        rows: there
            .iter()
            .map(|&at| known.iter().filter_map(|&part| parts[part][at]).collect())
            .collect(),
        harm: there.iter().filter_map(|&at| harm[at]).collect(),
    };
    let singly: Vec<Vec<usize>> = (0..there.len()).map(|at| vec![at]).collect();
    let mut best: Option<(f64, f64)> = None;
    for lambda in LAMBDAS {
        if let Some(error) = table.error(&singly, lambda)
            && best.is_none_or(|(least, _)| error < least)
        {
            best = Some((error, lambda));
        }
    }
    let (_, lambda) = best?;
    let (bias, weights) = ridge(&table.rows, &table.harm, lambda)?;
    let of_family = |family: &Family| -> Vec<usize> {
        let own = there
            .iter()
            .enumerate()
            .filter(|(_, at)| family.has(labels[**at]));
        own.map(|(row, _)| row).collect()
    };
    let by_family: Vec<Vec<usize>> = families.iter().map(of_family).collect();
    Some(Fitted {
        weights: table
            .names
            .iter()
            .map(|n| (*n).to_owned())
            .zip(weights)
            .collect(),
        bias,
        lambda,
        leave_one_out: table.rho(&singly, lambda),
        leave_one_family_out: (!families.is_empty())
            .then(|| table.rho(&by_family, lambda))
            .flatten(),
    })
}
