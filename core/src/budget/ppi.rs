//! PPI++ for a mean, as published: predictions on labelled and on unlabelled data
//! (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, section 3 and example 6.1).

use crate::stats::student_quantile;

/// The estimate of a mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ppi {
    /// The estimate.
    pub mean: f64,
    /// Its standard error.
    pub se: f64,
    /// How much the predictions were trusted.
    pub power: f64,
    /// The normal interval, not cut.
    pub interval: (f64, f64),
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (
        mean,
        values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n,
    )
}

/// `mean(Y - power f) + power mean(f')` over labels Y with predictions f, and predictions f'
/// of what has no label; `power = Cov(Y, f) / ((1 + n/N) Var(f, f'))`, cut to `[0,1]`. Variances divide
/// by n (that of all predictions by one less), and the interval is normal, as in PyPI `ppi-python` 0.2.3 (`ppi_mean_ci`), with which the
/// figures agree. `None` for fewer than two of either, or for lists of other lengths.
#[must_use]
pub fn ppi_mean(labels: &[f64], predicted: &[f64], unlabelled: &[f64], alpha: f64) -> Option<Ppi> {
    let (n, rest) = (labels.len(), unlabelled.len());
    if n < 2 || rest < 2 || predicted.len() != n {
        return None;
    }
    let (n, rest) = (n as f64, rest as f64);
    let (mean_y, _) = moments(labels);
    let (mean_f, _) = moments(predicted);
    let together: Vec<f64> = predicted.iter().chain(unlabelled).copied().collect();
    let (_, variance) = moments(&together);
    // This variance alone has one degree of freedom less, as in the package.
    let variance = variance * (n + rest) / (n + rest - 1.0);
    let pairs = labels.iter().zip(predicted);
    let cov = pairs.map(|(y, f)| (y - mean_y) * (f - mean_f)).sum::<f64>() / n;
    let power = if variance > 0.0 {
        (cov / ((1.0 + n / rest) * variance)).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let residuals: Vec<f64> = labels
        .iter()
        .zip(predicted)
        .map(|(y, f)| y - power * f)
        .collect();
    let (left, left_variance) = moments(&residuals);
    let (mean_rest, rest_variance) = moments(unlabelled);
    let mean = left + power * mean_rest;
    let se = (left_variance / n + power * power * rest_variance / rest).sqrt();
    // So many degrees of freedom are the normal distribution.
    let z = student_quantile(1.0 - alpha / 2.0, 1e9)?;
    Some(Ppi {
        mean,
        se,
        power,
        interval: (mean - z * se, mean + z * se),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_by_hand() {
        // f = Y on two labels 0 1: cov = 1/4, Var(0 1 0 1) = 1/3, n/N = 1: power 3/8.
        let found = ppi_mean(&[0.0, 1.0], &[0.0, 1.0], &[0.0, 1.0], 0.05).unwrap();
        assert!((found.power - 0.375).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        // Residuals 0, 5/8: variance 25/256 over 2; 9/64 x 1/4 over 2.
        let square = 25.0 / 512.0 + 9.0 / 512.0;
        assert!((found.se - f64::sqrt(square)).abs() < 1e-12, "{found:?}");
        assert_eq!(ppi_mean(&[1.0], &[1.0], &[1.0, 2.0], 0.05), None);
        // Predictions that are all the same tell nothing.
        assert_eq!(
            ppi_mean(&[0.0, 1.0], &[1.0; 2], &[1.0; 2], 0.05)
                .unwrap()
                .power,
            0.0
        );
    }

    /// Figures of PyPI `ppi-python` 0.2.3, as benches/ppi_reference.py prints them.
    #[test]
    fn it_agrees_with_the_published_package() {
        let cases: [(u32, u32, f64, f64, f64, f64); 3] = [
            (40, 200, 0.8, 0.235911372426, 0.190568592818, 0.281254152034),
            (25, 60, 0.1, 0.255768853874, 0.142745918936, 0.368791788812),
            (12, 500, 1.0, 0.244468911721, 0.189387402506, 0.299550420935),
        ];
        for (n, rest, weight, mean, low, high) in cases {
            let part = |i: u32, by: u32, of: u32| f64::from(i * by % of) / f64::from(of);
            let gap = |i: u32, by, of| {
                if i.is_multiple_of(3) {
                    0.0
                } else {
                    part(i, by, of).powi(2)
                }
            };
            let y: Vec<f64> = (0..n).map(|i| gap(i, 37, 101)).collect();
            let f: Vec<f64> = (0..n)
                .map(|i| weight * y[i as usize] + 0.3 * part(i, 53, 97))
                .collect();
            let g: Vec<f64> = (0..rest)
                .map(|j| weight * gap(j, 41, 103) + 0.3 * part(j, 29, 89))
                .collect();
            let found = ppi_mean(&y, &f, &g, 0.05).unwrap();
            for (found, wanted) in [
                (found.mean, mean),
                (found.interval.0, low),
                (found.interval.1, high),
            ] {
                assert!((found - wanted).abs() < 1e-7, "{n} {found} {wanted}");
            }
        }
    }
}
