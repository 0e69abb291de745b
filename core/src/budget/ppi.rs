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
/// by n, and the interval is normal, as in PyPI `ppi-python` 0.2.3 (`ppi_mean_ci`), with which the
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
        // f = Y on two labels 0 1: cov = 1/4, Var(0 1 0 1) = 1/4, n/N = 1: power 1/2.
        let found = ppi_mean(&[0.0, 1.0], &[0.0, 1.0], &[0.0, 1.0], 0.05).unwrap();
        assert!((found.power - 0.5).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        // Residuals 0, 1/2: variance 1/16 over 2; 1/4 x 1/4 over 2: se = 1/4.
        assert!((found.se - 0.25).abs() < 1e-12, "{found:?}");
        assert_eq!(ppi_mean(&[1.0], &[1.0], &[1.0, 2.0], 0.05), None);
        // Predictions that are all the same tell nothing.
        assert_eq!(
            ppi_mean(&[0.0, 1.0], &[1.0; 2], &[1.0; 2], 0.05)
                .unwrap()
                .power,
            0.0
        );
    }
}
