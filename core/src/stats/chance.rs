//! Chance with a seed: the same numbers on every machine.

/// Splitmix64 (Steele, Lea and Flood 2014): enough to resample and to shuffle.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A stream of its own for every seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give shifted copies of one stream.
        let mut mixer = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        Self(mixer.bits() ^ seed.rotate_left(32))
    }

    /// 64 even bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[0,1)`, even, of 53 bits.
    #[must_use]
    pub const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution (Box and Muller 1958).
    #[must_use]
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }

    /// A place below `n`, even to 2^-64; 0 for `n` = 0.
    pub const fn below(&mut self, n: usize) -> usize {
        ((self.bits() as u128 * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_and_streams_differ() {
        let mut chance = Chance::new(1);
        let mut counts = [0u32; 5];
        (0..50_000).for_each(|_| counts[chance.below(5)] += 1);
        // Five standard deviations of a binomial of 1/5.
        assert!(
            counts.iter().all(|&n| n.abs_diff(10_000) < 450),
            "{counts:?}"
        );
        let normal: Vec<f64> = (0..20_000).map(|_| chance.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 20_000.0;
        let square = normal.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(
            mean.abs() < 0.03 && (square - 1.0).abs() < 0.05,
            "{mean} {square}"
        );
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.unit())));
        assert_eq!(chance.below(0), 0);
        assert_ne!(Chance::new(1).bits(), Chance::new(2).bits());
    }
}
