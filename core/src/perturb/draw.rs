//! Where the chance of a perturbation comes from.

use crate::json::key::Key;
use crate::stats::Chance;

/// Chance of one trajectory. The same seed, trajectory, perturbation and unit draw
/// the same numbers, whatever else was drawn before or runs beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw<'a> {
    /// The user's seed.
    pub seed: u64,
    /// The trajectory; for a draw of its own per repeat, with the repeat.
    pub trajectory: &'a str,
}

impl Draw<'_> {
    /// The stream of one unit: a word of a text, a tool, a position of a call.
    #[must_use]
    pub fn chance(&self, perturbation: &str, unit: &str) -> Chance {
        let seed = self.seed.to_string();
        let key = Key::of_parts(&["perturb 1", &seed, perturbation, self.trajectory, unit]);
        Chance::new(key.as_i64().cast_unsigned())
    }

    /// Whether a unit is struck. What is struck at an intensity is struck at every higher one.
    #[must_use]
    pub fn strikes(&self, perturbation: &str, unit_name: &str, intensity: f64) -> bool {
        unit(&mut self.chance(perturbation, unit_name)) < intensity
    }
}

/// A number in [0,1), even to 2^-53.
#[must_use]
pub fn unit(chance: &mut Chance) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let bits = (chance.bits() >> 11) as f64;
    bits / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_intensity_strikes_what_less_did_and_as_often_as_it_says() {
        let draw = Draw {
            seed: 7,
            trajectory: "t",
        };
        let struck = |intensity: f64| -> Vec<usize> {
            (0..10_000)
                .filter(|at| draw.strikes("x", &at.to_string(), intensity))
                .collect()
        };
        let (few, many) = (struck(0.2), struck(0.6));
        assert!(few.iter().all(|at| many.binary_search(at).is_ok()));
        // Five standard deviations of a binomial.
        assert!(few.len().abs_diff(2_000) < 200, "{}", few.len());
        assert!(many.len().abs_diff(6_000) < 250, "{}", many.len());
        assert!(struck(0.0).is_empty());
        assert_eq!(struck(1.0).len(), 10_000);
    }

    #[test]
    fn seed_trajectory_perturbation_and_unit_all_count() {
        let bits = |seed, trajectory, name, unit: &str| {
            Draw { seed, trajectory }.chance(name, unit).bits()
        };
        let base = bits(1, "a", "x", "0");
        assert_eq!(base, bits(1, "a", "x", "0"));
        for other in [
            bits(2, "a", "x", "0"),
            bits(1, "b", "x", "0"),
            bits(1, "a", "y", "0"),
            bits(1, "a", "x", "1"),
        ] {
            assert_ne!(base, other);
        }
    }
}
