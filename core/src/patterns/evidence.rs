//! Whether what a cluster shows is more than the arms' own noise.
//!
//! A cluster is made of calls at which the *first* runs of the arms differ. Its gap is
//! selected for, so it says nothing by itself. What the selection did not see are the
//! other runs: where both arms were repeated, `excess = D / d_SR` of a call says how much
//! of its difference is left after the arms' noise is taken off (1: all runs of an arm
//! agree; 0 and below: the arms disagree with themselves as much).
//!
//! **What excess noise alone gives.** Let the runs of both arms be draws from one world,
//! and distances 0 or 1. With B = P(two draws differ) and A = P(a further draw differs
//! from the first sim run | the first runs differ), the mean of D over the selected calls
//! is (1 + B)/4 - A/2. A >= 1/2, as p_i + p_j <= 1 for any two values, and A >= B by
//! Jensen, so the mean is at most 1/8. That of D / d_SR stays below 1/8, too (tried over
//! random worlds in the tests). A cluster counts as found if the mean of its trajectories
//! is above [`NULL_EXCESS`], by a bound that holds for any bounded variable.

/// The largest mean excess that noise alone gives to selected calls.
pub const NULL_EXCESS: f64 = 0.125;

/// The part of a call's difference that is left after noise, in `[-1, 1]`: `raw` is D,
/// `distance` is d_SR of MEASURES 1. `None` where there is no difference.
#[must_use]
pub fn call_excess(raw: f64, distance: f64) -> Option<f64> {
    (distance > 0.0 && raw.is_finite()).then(|| (raw / distance).clamp(-1.0, 1.0))
}

/// p-value of: the mean over trajectories is at most [`NULL_EXCESS`]. One value in
/// `[-1, 1]` per trajectory (calls of one trajectory are not independent). The
/// Chernoff-Hoeffding bound exp(-n KL(mean, bound)) (Hoeffding 1963, theorem 1), valid for
/// any n. `None` without values.
///
/// ```
/// // Ten trajectories of excess 1: ((0.125 + 1) / 2)^10.
/// let p = fidelake_core::patterns::excess_p(&[1.0; 10]).unwrap();
/// assert!((p - 0.5625f64.powi(10)).abs() < 1e-12);
/// ```
#[must_use]
pub fn excess_p(by_trajectory: &[f64]) -> Option<f64> {
    if by_trajectory.is_empty() {
        return None;
    }
    let n = by_trajectory.len() as f64;
    let mean = by_trajectory.iter().sum::<f64>() / n;
    let half = |x: f64| ((x + 1.0) / 2.0).clamp(0.0, 1.0);
    let (z, q) = (half(mean), half(NULL_EXCESS));
    if z <= q {
        return Some(1.0);
    }
    let part = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    let kl = part(z, q) + part(1.0 - z, 1.0 - q);
    Some((-n * kl).exp().min(1.0))
}

/// p-value of: a difference is as frequent as its mirror image (sim and real changed
/// over). Where nothing was repeated, this is what noise cannot do: arms of one world are
/// exchangeable. P(X >= here), X binomial of here + mirrored trials at 1/2; counts of
/// trajectories.
///
/// ```
/// // Five against none: 1/32.
/// assert_eq!(fidelake_core::patterns::sign_p(5, 0), 1.0 / 32.0);
/// ```
#[must_use]
pub fn sign_p(here: u64, mirrored: u64) -> f64 {
    let n = here + mirrored;
    if n == 0 {
        return 1.0;
    }
    // ln C(n, k) along k, summed from the top.
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for k in 0..=n - here {
        if k > 0 {
            ln_term += ((n - k + 1) as f64 / k as f64).ln();
        }
        sum += ln_term.exp();
    }
    sum.min(1.0)
}

/// Holm's step-down adjustment (Holm 1979): the chance of any false alarm among all of
/// them stays below what is asked of each adjusted value.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]).then(a.cmp(&b)));
    let mut out = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max(((p.len() - rank) as f64 * p[at]).min(1.0));
        out[at] = least;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(call_excess(0.5, 1.0), Some(0.5));
        assert_eq!(call_excess(0.1, 0.0), None);
        assert_eq!(excess_p(&[]), None);
        assert_eq!(excess_p(&[0.1; 50]), Some(1.0));
        // P(X >= 3), n = 4: (4 + 1) / 16.
        assert!((sign_p(3, 1) - 5.0 / 16.0).abs() < 1e-12);
        assert!((sign_p(0, 4) - 1.0).abs() < 1e-12);
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    }

    /// Mean excess of calls whose first runs differ, both arms being one world.
    fn null_mean(world: &[f64], rng: &mut Chance) -> f64 {
        let total: f64 = world.iter().sum();
        let draw = |rng: &mut Chance| {
            let mut at = rng.unit() * total;
            world.iter().position(|p| {
                at -= p;
                at < 0.0
            })
        };
        let (mut sum, mut n) = (0.0, 0.0);
        for _ in 0..40_000 {
            let [s, t, r, q] = [0; 4].map(|_| draw(rng).unwrap_or(0));
            if s == r {
                continue;
            }
            let d = |a: usize, b: usize| f64::from(u8::from(a != b));
            let between = (d(s, r) + d(s, q) + d(t, r) + d(t, q)) / 4.0;
            let raw = between - (d(s, t) + d(r, q)) / 2.0;
            sum += call_excess(raw, between).unwrap_or(0.0);
            n += 1.0;
        }
        if n < 500.0 { 0.0 } else { sum / n }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn noise_alone_stays_below_the_bound(world in prop::collection::vec(0.001f64..1.0, 2..9), sharp in 1i32..6, seed: u64) {
            let world: Vec<f64> = world.iter().map(|p| p.powi(sharp)).collect();
            let mean = null_mean(&world, &mut Chance::new(seed));
            // Four standard errors of 500 draws in [-1, 1] are wider than this near the bound.
            prop_assert!(mean < NULL_EXCESS + 0.05, "{mean} {world:?}");
        }

        #[test]
        fn p_falls_with_the_mean_and_with_the_number(mean in -1.0f64..=1.0, n in 1usize..60) {
            let p = excess_p(&vec![mean; n]).unwrap();
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!(excess_p(&vec![mean; n + 1]).unwrap() <= p + 1e-12);
            prop_assert!(excess_p(&vec![(mean + 0.1).min(1.0); n]).unwrap() <= p + 1e-12);
        }

        #[test]
        fn holm_keeps_the_order_and_never_lowers(p in prop::collection::vec(0.0f64..=1.0, 1..30)) {
            let adjusted = holm(&p);
            for (raw, adjusted) in p.iter().zip(&adjusted) {
                prop_assert!(adjusted >= raw && *adjusted <= 1.0);
            }
            for i in 0..p.len() {
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
