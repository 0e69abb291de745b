//! Intervals that hold whenever one looks: betting on bounded values drawn without
//! replacement (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random
//! variables by betting", sections 4 and 5).
//!
//! For every mean m that the pool may have, one player bets that draws come out higher
//! than m says, another that they come out lower. No player gets rich where m is true:
//! P(capital ever reaches 2/alpha) <= alpha/2 (Ville). The interval is the m at which
//! neither did. It needs no normal limit, and looking often costs nothing.

/// Largest share of its capital that a player may lose in one draw.
const MOST: f64 = 0.9;

/// Bets never get larger than this where values hardly vary.
const LEAST_VARIANCE: f64 = 1e-4;

/// One draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The value, in `[0,1]`, or with a control variate in `[-reach, 1 + reach]`.
    pub value: f64,
    /// How far the control variate can move a value; 0 without one.
    pub reach: f64,
    /// Sum of the values of the pool that were known before this draw.
    pub known: f64,
    /// Members of the pool that were not known before this draw, this one included.
    pub left: f64,
    /// Draws that were planned, when this one was made: bets are sized for them.
    pub horizon: f64,
}

/// A player's draws with the bets that were fixed before each.
struct Game {
    /// (step, bet before the cut)
    rounds: Vec<(Step, f64)>,
    pool: f64,
    needed: f64,
}

impl Game {
    fn new(steps: &[Step], pool: f64, alpha: f64) -> Self {
        let price = 2.0 * (2.0 / alpha).ln();
        // The running mean and variance before each draw, with one made-up draw of 1/2.
        let (mut n, mut sum, mut squares) = (1.0, 0.5, 0.25);
        let rounds = steps.iter().map(|step| {
            let variance: f64 = f64::max(squares / n, LEAST_VARIANCE);
            let bet = (price / (variance * step.horizon.max(1.0))).sqrt();
            n += 1.0;
            sum += step.value;
            squares += (step.value - sum / n).powi(2);
            (*step, bet)
        });
        Self {
            rounds: rounds.collect(),
            pool,
            needed: (2.0 / alpha).ln(),
        }
    }

    /// Whether the player for `sign` (1: higher, -1: lower) gets rich if the mean is `m`.
    fn refuses(&self, m: f64, sign: f64) -> bool {
        let mut capital: f64 = 0.0;
        for (step, bet) in &self.rounds {
            let mean = (self.pool * m - step.known) / step.left;
            // What is left cannot have such a mean: m itself is impossible.
            if mean < -1e-9 {
                return sign > 0.0;
            }
            if mean > 1.0 + 1e-9 {
                return sign < 0.0;
            }
            let worst = if sign > 0.0 { mean } else { 1.0 - mean } + step.reach;
            let bet = if worst > 0.0 {
                bet.min(MOST / worst)
            } else {
                *bet
            };
            let gain = 1.0 + sign * bet * (step.value - mean);
            capital += gain.max(1e-12).ln();
            if capital >= self.needed {
                return true;
            }
        }
        false
    }
}

/// The interval of the mean of a pool of `pool` values in `[0,1]`, after `steps` draws
/// without replacement, at confidence `1 - alpha` at every time at once. Values known
/// otherwise count exactly, through `known` and `left` of the steps. Without steps `[0,1]`.
///
/// ```
/// use fidelake_core::stats::{Step, betting_interval};
/// let zeros: Vec<Step> = (0..60)
///     .map(|t| Step { value: 0.0, reach: 0.0, known: 0.0, left: 1000.0 - f64::from(t), horizon: 60.0 })
///     .collect();
/// let (low, high) = betting_interval(&zeros, 1000.0, 0.05);
/// assert!(low == 0.0 && high > 0.05 && high < 0.09);
/// ```
#[must_use]
pub fn betting_interval(steps: &[Step], pool: f64, alpha: f64) -> (f64, f64) {
    if steps.is_empty() || pool <= 0.0 {
        return (0.0, 1.0);
    }
    let game = Game::new(steps, pool, alpha);
    // Each player refuses all m on its side of one bound.
    let bound = |sign: f64| {
        let (mut refused, mut kept) = if sign > 0.0 { (0.0, 1.0) } else { (1.0, 0.0) };
        if !game.refuses(refused, sign) {
            return refused;
        }
        for _ in 0..26 {
            let middle = f64::midpoint(refused, kept);
            if game.refuses(middle, sign) {
                refused = middle;
            } else {
                kept = middle;
            }
        }
        kept
    };
    let (low, high) = (bound(1.0), bound(-1.0));
    if low <= high {
        (low, high)
    } else {
        (high, low)
    }
}

/// The steps of plain draws without replacement: no control variate, nothing known before.
#[must_use]
pub fn plain_steps(values: &[f64], pool: usize, horizon: usize) -> Vec<Step> {
    let mut known = 0.0;
    let steps = values.iter().enumerate().map(|(t, &value)| {
        let step = Step {
            value,
            reach: 0.0,
            known,
            left: pool.saturating_sub(t) as f64,
            horizon: horizon as f64,
        };
        known += value;
        step
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    #[test]
    fn one_draw_by_hand() {
        // One draw of 1 from 100: the player for higher bets sqrt(7.378 / .25) = 5.43 or, if that
        // is less, .9 / m, and makes at most 1 + 5.43 of 1, less than 40: one draw refuses nothing.
        let (low, high) = betting_interval(&plain_steps(&[1.0], 100, 1), 100.0, 0.05);
        assert_eq!((low, high), (0.0, 1.0));
        // Two: less than the first alone cannot be the mean of 100, whatever the bets.
        let (low, high) = betting_interval(&plain_steps(&[1.0, 1.0], 100, 2), 100.0, 0.05);
        assert!((0.0099..0.2).contains(&low) && high == 1.0, "{low} {high}");
        assert_eq!(betting_interval(&[], 100.0, 0.05), (0.0, 1.0));
    }

    #[test]
    fn a_pool_drawn_whole_is_known() {
        let values = [0.0, 0.5, 1.0, 0.5];
        let (low, high) = betting_interval(&plain_steps(&values, 4, 4), 4.0, 0.05);
        assert!(
            low <= 0.5 && high >= 0.5 && high - low <= 0.8,
            "{low} {high}"
        );
    }

    #[test]
    fn it_holds_at_every_time() {
        // Rare gaps, looked at after every draw: the share of 1,500 pools that is ever missed.
        let mut chance = Chance::new(5);
        let mut missed = 0;
        for _ in 0..1500 {
            let mut pool: Vec<f64> = (0..200)
                .map(|at| {
                    if at < 10 {
                        chance.below(1000) as f64 / 1000.0
                    } else {
                        0.0
                    }
                })
                .collect();
            let mean = pool.iter().sum::<f64>() / 200.0;
            for at in 0..80 {
                let other = at + chance.below(200 - at);
                pool.swap(at, other);
            }
            let ever = (5..=80).step_by(5).any(|n| {
                let (low, high) = betting_interval(&plain_steps(&pool[..n], 200, 80), 200.0, 0.05);
                mean < low - 1e-9 || mean > high + 1e-9
            });
            missed += u32::from(ever);
        }
        assert!(missed <= 75, "{missed} of 1500");
    }

    proptest! {
        #[test]
        fn more_draws_and_less_confidence_are_narrower(seed in 0u64..500, rate in 0.02f64..0.9) {
            let mut chance = Chance::new(seed);
            let mut sums = [0.0; 3];
            // The bets are sized for their alpha: on a single path less confidence can be wider.
            for _ in 0..20 {
                let values: Vec<f64> = (0..120)
                    .map(|_| f64::from(u8::from((chance.below(1000) as f64) < rate * 1000.0)))
                    .collect();
                let width = |n: usize, alpha: f64| {
                    let (low, high) = betting_interval(&plain_steps(&values[..n], 500, n), 500.0, alpha);
                    prop_assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
                    Ok(high - low)
                };
                let few = width(10, 0.05)?;
                let many = width(120, 0.05)?;
                prop_assert!(many <= few + 1e-9);
                for (sum, width) in sums.iter_mut().zip([few, many, width(120, 0.2)?]) {
                    *sum += width;
                }
            }
            prop_assert!(sums[2] <= sums[1] && sums[1] <= sums[0], "{sums:?}");
        }
    }
}
