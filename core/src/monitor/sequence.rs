//! Is the fidelity below the threshold? Bets that hold whenever one looks.
//!
//! Single samples of a stream depend on each other, so bets are laid on means of batches: a
//! training step, with at least ten samples and at least `2 (1 + phi) / (1 - phi)`
//! (docs/measures.md, "Monitor").

/// Samples of a batch at least.
const BATCH: u64 = 10;

/// A sum of samples that becomes one mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) sum: f64,
    pub(super) count: u64,
    /// The training step of the newest sample; NaN where none was given.
    pub(super) step: f64,
}

/// Samples that a batch of a stream with this correlation needs.
pub(super) fn batch_size(phi: f64) -> u64 {
    let needed = 2.0 * (1.0 + phi) / (1.0 - phi);
    // Less what rounding makes of a whole number.
    BATCH.max((needed - 1e-9).ceil() as u64)
}

impl Batch {
    /// Adds a sample; the mean of the batch before it, if that was complete. A step is never split.
    pub(super) fn add(&mut self, gap: f64, step: Option<i64>, size: u64) -> Option<f64> {
        let step = step.map_or(f64::NAN, |step| step as f64);
        let same = step == self.step;
        let done = (self.count >= size && !same).then(|| self.sum / self.count as f64);
        if done.is_some() {
            *self = Self::default();
        }
        self.sum += gap;
        self.count += 1;
        self.step = step;
        done
    }
}

/// The player who says that the gap is above the limit, and begins anew whenever he has less than
/// at first: P(his capital ever reaches A within n batches) <= n / A if each batch's mean is expected
/// at or below the limit (Ville per start; Shin, Ramdas and Rinaldo 2023, "E-detectors").
///
/// Beside it what is needed for an interval of the mean so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sequence {
    /// ln of the capital, at least 0.
    pub(super) capital: f64,
    /// Batches so far.
    pub(super) batches: u64,
    /// Running mean and variance of batch means, which bets are sized by: those before the bet.
    mean: f64,
    variance: f64,
    interval: Mixture,
}

/// Weight of the newest batch in what bets are sized by.
const MEMORY: f64 = 0.1;

impl Default for Sequence {
    fn default() -> Self {
        Self {
            capital: 0.0,
            batches: 0,
            mean: 0.5,
            variance: 0.25,
            interval: Mixture::default(),
        }
    }
}

/// Most that a player may lose in one batch.
const MOST: f64 = 0.75;

impl Sequence {
    /// One more batch mean in `[0,1]`; `limit` is the gap that still is allowed, in [0,1).
    pub(super) fn add(&mut self, mean: f64, limit: f64) {
        // The bet that grows fastest if the next batch is like those before (Waudby-Smith and
        // Ramdas 2024, approximate GRAPA); always a little, so that a change is noticed.
        let above = self.mean - limit;
        let most = MOST / limit.max(1e-3);
        let bet = (above / (self.variance + above * above)).clamp((0.5f64).min(most), most);
        let gain = (1.0 + bet * (mean - limit)).max(1e-12).ln();
        self.capital = (self.capital + gain).max(0.0);
        self.interval.add(mean, self.batches);
        let off = mean - self.mean;
        self.mean += MEMORY * off;
        self.variance = ((1.0 - MEMORY) * (self.variance + MEMORY * off * off)).max(1e-4);
        self.batches += 1;
    }

    /// What ln of the capital must reach, so that P(it does within `samples`) is at most `rate`.
    pub(super) fn needed(rate: f64, samples: f64, size: u64) -> f64 {
        (samples / size as f64 / rate).max(1.0).ln()
    }

    /// The bet is forgotten, the interval is not.
    pub(super) fn begin_anew(&mut self) {
        self.capital = 0.0;
    }

    /// The mean of the batches so far lies in here with 95 %, at every time at once. `None` without batches.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        (self.batches > 0).then(|| self.interval.bounds())
    }

    pub(super) fn to_parts(self) -> [f64; 9] {
        let Mixture {
            weights,
            weighted,
            price,
            sum,
            squares,
        } = self.interval;
        [
            self.capital,
            self.batches as f64,
            self.mean,
            self.variance,
            weights,
            weighted,
            price,
            sum,
            squares,
        ]
    }

    pub(super) fn from_parts(parts: [f64; 9]) -> Self {
        let [
            capital,
            batches,
            mean,
            variance,
            weights,
            weighted,
            price,
            sum,
            squares,
        ] = parts;
        Self {
            capital,
            batches: batches as u64,
            mean,
            variance,
            interval: Mixture {
                weights,
                weighted,
                price,
                sum,
                squares,
            },
        }
    }
}

/// Share of streams whose interval may ever miss.
const ALPHA: f64 = 0.05;

/// The predictable-mixture empirical-Bernstein sequence (Waudby-Smith and Ramdas 2024, theorem 2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mixture {
    weights: f64,
    weighted: f64,
    price: f64,
    sum: f64,
    squares: f64,
}

impl Mixture {
    /// One more mean, after `before` others.
    fn add(&mut self, x: f64, before: u64) {
        let t = before as f64 + 1.0;
        // With one made-up mean of 1/2 before the first.
        let mean = (0.5 + self.sum) / t;
        let variance = (0.25 + self.squares) / t;
        let bet = (2.0 * (2.0 / ALPHA).ln() / (variance * t * t.ln_1p()))
            .sqrt()
            .min(0.5);
        self.weights += bet;
        self.weighted += bet * x;
        // v psi_E of the paper: 4 (x - mean)^2 times (-ln(1 - bet) - bet) / 4.
        self.price += (x - mean).powi(2) * (-(-bet).ln_1p() - bet);
        self.sum += x;
        self.squares += (x - (0.5 + self.sum) / (t + 1.0)).powi(2);
    }

    fn bounds(&self) -> (f64, f64) {
        let centre = self.weighted / self.weights;
        let half = ((2.0 / ALPHA).ln() + self.price) / self.weights;
        ((centre - half).max(0.0), (centre + half).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    #[test]
    fn batches_by_hand() {
        let mut batch = Batch::default();
        // Steps of 4: the third fills it, the fourth closes it.
        let closed: Vec<Option<f64>> = (0..16)
            .map(|at| batch.add(f64::from(at / 4), Some(i64::from(at / 4)), 10))
            .collect();
        assert_eq!(closed.iter().flatten().count(), 1);
        assert_eq!(closed[12], Some(1.0));
        // Without steps: ten, whatever they are.
        let mut batch = Batch::default();
        let closed: Vec<_> = (0..21).filter_map(|_| batch.add(0.5, None, 10)).collect();
        assert_eq!(closed, [0.5, 0.5]);
        assert_eq!(
            (batch_size(0.0), batch_size(0.5), batch_size(0.8)),
            (10, 10, 18)
        );
    }

    #[test]
    fn capital_by_hand() {
        let mut player = Sequence::default();
        // Before anything the mean is 1/2 and the variance 1/4: bet (.5 - .3) / (.25 + .04) = .69
        // on a mean of .8: ln(1 + .69 x .5).
        player.add(0.8, 0.3);
        let bet: f64 = 0.2 / 0.29;
        assert!((player.capital - (1.0 + bet * 0.5).ln()).abs() < 1e-12);
        // A loss never goes below the beginning.
        (0..50).for_each(|_| player.add(0.0, 0.3));
        assert_eq!(player.capital, 0.0);
        let before = player.interval();
        player.begin_anew();
        assert_eq!(player.interval(), before);
        assert_eq!(Sequence::from_parts(player.to_parts()), player);
    }

    #[test]
    fn one_mean_by_hand() {
        let mut mixture = Mixture::default();
        mixture.add(1.0, 0);
        // Bet sqrt(2 ln 40 / (.25 ln 2)) is cut to .5: centre 1, half (ln 40 + .25 (ln 2 - .5)) / .5.
        let half = (40f64.ln() + 0.25 * (2f64.ln() - 0.5)) / 0.5;
        assert!(half > 7.0 && mixture.bounds() == (0.0, 1.0));
        assert!((mixture.price - 0.25 * (2f64.ln() - 0.5)).abs() < 1e-12);
    }

    /// Batch means of skewed values whose mean is `mean`.
    fn draw(chance: &mut Chance, mean: f64) -> f64 {
        let one = |chance: &mut Chance| f64::from(u8::from(chance.unit() < mean));
        (0..10).map(|_| one(chance)).sum::<f64>() / 10.0
    }

    #[test]
    fn who_stays_at_the_limit_is_rarely_accused() {
        let mut chance = Chance::new(3);
        let needed = Sequence::needed(0.05, 1000.0, 10);
        let (mut accused, mut missed) = (0, 0);
        for _ in 0..4000 {
            let mut player = Sequence::default();
            let (mut ever, mut out) = (false, false);
            for _ in 0..100 {
                player.add(draw(&mut chance, 0.3), 0.3);
                ever |= player.capital >= needed;
                let (low, high) = player.interval().unwrap();
                out |= !(low..=high).contains(&0.3);
            }
            accused += u32::from(ever);
            missed += u32::from(out);
        }
        // 5 %, and no more than chance above.
        assert!(
            accused <= 200 && missed <= 200,
            "{accused} {missed} of 4000"
        );
    }

    #[test]
    fn a_long_good_past_does_not_blind() {
        let mut chance = Chance::new(4);
        let needed = Sequence::needed(0.001, 1000.0, 10);
        let mut player = Sequence::default();
        (0..5000).for_each(|_| player.add(draw(&mut chance, 0.1), 0.3));
        let batches = (1..200).find(|_| {
            player.add(draw(&mut chance, 0.5), 0.3);
            player.capital >= needed
        });
        assert!(batches.is_some_and(|n| n < 60), "{batches:?}");
    }

    proptest! {
        #[test]
        fn intervals_get_narrower(mean in 0.05f64..0.95, seed in 0u64..100) {
            let mut chance = Chance::new(seed);
            let mut player = Sequence::default();
            let mut widths = vec![];
            for _ in 0..400 {
                player.add(draw(&mut chance, mean), 0.3);
                let (low, high) = player.interval().unwrap();
                prop_assert!(0.0 <= low && low <= high && high <= 1.0);
                widths.push(high - low);
            }
            prop_assert!(widths[399] < widths[40] && widths[399] < 0.2);
        }
    }
}
