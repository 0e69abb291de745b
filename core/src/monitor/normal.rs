//! Quantiles of the normal distribution far out, and of skewed sums.

/// The z with P(N(0,1) > z) = `tail`, for tails in (0, 1/2]; relative error below 2e-9
/// (Acklam 2003, rational approximation). 0 for larger tails, infinite for none.
#[must_use]
pub(super) fn upper_quantile(tail: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let polynomial = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if tail >= 0.5 {
        return 0.0;
    }
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    if tail < 0.024_25 {
        let q = (-2.0 * tail.ln()).sqrt();
        return -polynomial(&C, q) / (polynomial(&D, q) * q + 1.0);
    }
    let q = 0.5 - tail;
    let r = q * q;
    polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
}

/// The standardised upper quantile of a sum of skewness `skew` (at least 0) where a normal one
/// would stand at `z`: Pearson's third kind by Wilson and Hilferty (1931),
/// `2/g ((1 + g z/6 - g^2/36)^3 - 1)`. Beyond g = 3 z the form turns back; it is held there.
#[must_use]
pub(super) fn skewed_quantile(z: f64, skew: f64) -> f64 {
    let g = skew.clamp(0.0, 3.0 * z);
    if g < 1e-6 {
        return z;
    }
    let cube = 1.0 + g * z / 6.0 - g * g / 36.0;
    2.0 / g * (cube.powi(3) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        for (tail, z) in [
            (0.025, 1.959_963_984_540_054),
            (0.01, 2.326_347_874_040_841),
            (1e-3, 3.090_232_306_167_813),
            (1e-5, 4.264_890_793_922_825),
            (1e-8, 5.612_001_244_174_789),
            (0.3, 0.524_400_512_708_041),
        ] {
            assert!((upper_quantile(tail) - z).abs() < 1e-8 * z, "{tail}");
        }
        assert_eq!(upper_quantile(0.5), 0.0);
    }

    #[test]
    fn skewed_tails_by_hand() {
        assert_eq!(skewed_quantile(3.0, 0.0), 3.0);
        // 2 ((1 + .5 - 1/36)^3 - 1) = 2 (3.1910 - 1), g = 1, z = 3.
        assert!((skewed_quantile(3.0, 1.0) - 4.382).abs() < 1e-3);
        // A gamma of shape 4 has skewness 1: P(X > 4 + 2 x 4.382) = P(chi2_8 > 25.5) = .0013;
        // the normal tail at 3 is .00135.
        assert!(skewed_quantile(3.0, 50.0).is_finite());
    }
}
