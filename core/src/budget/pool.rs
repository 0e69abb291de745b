//! A pool whose gaps are all known: made up, or dual-executed whole.

use super::frame::{Drawn, Frame};
use crate::stats::Chance;

/// A pool to replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Regions and features.
    pub frame: Frame,
    /// Gap by unit, times its reliability.
    pub values: Vec<f64>,
    /// Reliability by unit.
    pub bases: Vec<f64>,
    /// Real calls that one unit costs: itself and the prefix that must be made for it.
    pub costs: Vec<u32>,
}

impl Pool {
    /// What buying a unit shows.
    #[must_use]
    pub fn buy(&self, unit: usize) -> Drawn {
        Drawn {
            unit,
            value: self.values[unit],
            base: self.bases[unit],
        }
    }

    /// The gap of a region; `None` where it is undefined.
    #[must_use]
    pub fn truth(&self, units: &[usize]) -> Option<f64> {
        let sum: f64 = units.iter().map(|unit| self.values[*unit]).sum();
        let base: f64 = units.iter().map(|unit| self.bases[*unit]).sum();
        (base > 0.0).then(|| sum / base)
    }

    /// Mean real calls per unit, by region.
    #[must_use]
    pub fn prices(&self) -> Vec<f64> {
        let price = |units: &Vec<usize>| {
            let sum: f64 = units.iter().map(|unit| f64::from(self.costs[*unit])).sum();
            sum / units.len().max(1) as f64
        };
        self.frame.regions.iter().map(price).collect()
    }

    /// The same pool as one region.
    #[must_use]
    pub fn whole(&self) -> Self {
        let mut all: Vec<usize> = self.frame.regions.concat();
        all.sort_unstable();
        let frame = Frame {
            regions: vec![all],
            ..self.frame.clone()
        };
        Self {
            frame,
            ..self.clone()
        }
    }
}

/// How a pool is made up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// Calls in the pool.
    pub calls: usize,
    /// APIs; their sizes fall as 1 / rank (Zipf), with at least 100 calls each.
    pub apis: usize,
    /// Correlation of the feature with the gap within an API.
    pub correlation: f64,
    /// Mean share of calls with a gap; APIs differ by a factor of four.
    pub rate: f64,
    /// Seed of everything.
    pub seed: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self {
            calls: 16_000,
            apis: 24,
            correlation: 0.6,
            rate: 0.5,
            seed: 0,
        }
    }
}

/// A pool with zero-inflated gaps: most calls have none, the others one between 0 and 1
/// (Kumaraswamy 1980, mean about 0.4). Trajectories of one to ten calls, of which a quarter of
/// the APIs change the state: such calls before a bought one are its prefix.
#[must_use]
pub fn synthetic(made: &Synthetic) -> Pool {
    const LEAST: usize = 100;
    let mut chance = Chance::new(made.seed);
    let apis = made.apis.max(1);
    let rest = made.calls.saturating_sub(LEAST * apis) as f64;
    let harmonic: f64 = (1..=apis).map(|rank| 1.0 / rank as f64).sum();
    let sizes: Vec<usize> = (1..=apis)
        .map(|rank| LEAST + (rest / harmonic / rank as f64) as usize)
        .collect();
    // Dealt to ranks by chance.
    let mut rates: Vec<f64> = (0..apis)
        .map(|at| {
            let place = (at as f64 + 0.5) / apis as f64;
            (made.rate * (0.4 + 1.2 * place)).min(0.95)
        })
        .collect();
    for at in 0..apis {
        let other = at + chance.below(apis - at);
        rates.swap(at, other);
    }
    let mut region_of: Vec<usize> = sizes
        .iter()
        .enumerate()
        .flat_map(|(api, size)| std::iter::repeat_n(api, *size))
        .collect();
    for at in 0..region_of.len() {
        let other = at + chance.below(region_of.len() - at);
        region_of.swap(at, other);
    }
    let values: Vec<f64> = region_of
        .iter()
        .map(|api| {
            let gap = 1.0 - (1.0 - chance.unit()).powf(1.0 / 1.8);
            if chance.unit() < rates[*api] {
                gap.powf(1.0 / 1.2)
            } else {
                0.0
            }
        })
        .collect();
    let mut regions = vec![Vec::new(); apis];
    region_of
        .iter()
        .enumerate()
        .for_each(|(unit, api)| regions[*api].push(unit));
    let mut features = vec![0.0; values.len()];
    for units in &regions {
        let n = units.len() as f64;
        let mean = units.iter().map(|u| values[*u]).sum::<f64>() / n;
        let sd = (units
            .iter()
            .map(|u| (values[*u] - mean).powi(2))
            .sum::<f64>()
            / n)
            .sqrt();
        for unit in units {
            let own = if sd > 0.0 {
                (values[*unit] - mean) / sd
            } else {
                0.0
            };
            let other = (1.0 - made.correlation * made.correlation).max(0.0).sqrt();
            // On the scale of the region's gaps, as a surrogate that predicts gaps would be.
            features[*unit] = sd * (made.correlation * own + other * chance.normal());
        }
    }
    let mut costs = vec![1u32; values.len()];
    let (mut changed, mut open) = (0, 0usize);
    for (unit, cost) in costs.iter_mut().enumerate() {
        if open == 0 {
            (changed, open) = (0, 1 + chance.below(10));
        }
        *cost = 1 + changed;
        changed += u32::from(region_of[unit].is_multiple_of(4) && region_of[unit] > 0);
        open -= 1;
    }
    Pool {
        frame: Frame {
            regions,
            features,
            width: 1,
        },
        bases: vec![1.0; values.len()],
        values,
        costs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::pearson;

    #[test]
    fn a_pool_is_as_described() {
        let pool = synthetic(&Synthetic::default());
        assert!(pool.frame.len() >= 10_000 && pool.frame.regions.iter().all(|r| r.len() >= 100));
        let mean = pool.values.iter().sum::<f64>() / pool.values.len() as f64;
        let square = pool.values.iter().map(|v| v * v).sum::<f64>() / pool.values.len() as f64;
        let cv = (square - mean * mean).sqrt() / mean;
        let largest = &pool.frame.regions[0];
        let y: Vec<f64> = largest.iter().map(|u| pool.values[*u]).collect();
        let f: Vec<f64> = largest.iter().map(|u| pool.frame.features[*u]).collect();
        let rho = pearson(&y, &f).unwrap();
        let price = pool.costs.iter().sum::<u32>() as f64 / pool.costs.len() as f64;
        eprintln!("mean {mean:.3}, cv {cv:.2}, correlation {rho:.2}, price {price:.2}");
        assert!((0.15..0.25).contains(&mean) && (1.1..1.7).contains(&cv));
        assert!((rho - 0.6).abs() < 0.05 && (1.1..2.5).contains(&price));
        assert_eq!(pool, synthetic(&Synthetic::default()));
    }
}
