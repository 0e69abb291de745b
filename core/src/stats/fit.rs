//! Weights that are fitted: few, not negative, held back.

/// Non-negative ridge regression with an intercept: the `b` and `w >= 0` that minimise
/// `mean (y - b - x w)^2 + sum lambda_k w_k^2`, by coordinate descent. Rows of `x` are as
/// long as `lambda`, which has one penalty per column; returns `(b, w)`, `None` without
/// rows or for rows of another length.
#[must_use]
pub fn ridge(x: &[Vec<f64>], y: &[f64], lambda: &[f64]) -> Option<(f64, Vec<f64>)> {
    let columns = lambda.len();
    if x.is_empty() || x.len() != y.len() || x.iter().any(|row| row.len() != columns) {
        return None;
    }
    let n = x.len() as f64;
    let mean_y = y.iter().sum::<f64>() / n;
    let means: Vec<f64> = (0..columns)
        .map(|at| x.iter().map(|row| row[at]).sum::<f64>() / n)
        .collect();
    let weights = descended(x, y, lambda, mean_y, &means);
    let through: f64 = weights.iter().zip(&means).map(|(w, m)| w * m).sum();
    Some((mean_y - through, weights))
}

/// The same with a given intercept: the `w >= 0` that minimise
/// `mean (y - b - x w)^2 + sum lambda_k w_k^2`.
#[must_use]
pub fn ridge_from(x: &[Vec<f64>], y: &[f64], lambda: &[f64], b: f64) -> Option<Vec<f64>> {
    let columns = lambda.len();
    if x.is_empty() || x.len() != y.len() || x.iter().any(|row| row.len() != columns) {
        return None;
    }
    Some(descended(x, y, lambda, b, &vec![0.0; columns]))
}

/// The weights, with columns and `y` taken from where they are centred.
fn descended(x: &[Vec<f64>], y: &[f64], lambda: &[f64], centre: f64, means: &[f64]) -> Vec<f64> {
    const ROUNDS: usize = 500;
    const STILL: f64 = 1e-12;

    let n = x.len() as f64;
    let columns = lambda.len();
    let mut weights = vec![0.0; columns];
    let mut rest: Vec<f64> = y.iter().map(|y| y - centre).collect();
    for _ in 0..ROUNDS {
        let mut moved: f64 = 0.0;
        for at in 0..columns {
            let centred = |row: &Vec<f64>| row[at] - means[at];
            let square = x.iter().map(|row| centred(row).powi(2)).sum::<f64>() / n + lambda[at];
            if square <= 0.0 {
                continue;
            }
            let along = x.iter().zip(&rest);
            let along = along.map(|(row, r)| centred(row) * (r + weights[at] * centred(row)));
            let next = (along.sum::<f64>() / n / square).max(0.0);
            let step = next - weights[at];
            for (row, r) in x.iter().zip(&mut rest) {
                *r -= step * centred(row);
            }
            weights[at] = next;
            moved = moved.max(step.abs());
        }
        if moved < STILL {
            break;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_by_hand() {
        let x: Vec<Vec<f64>> = [0.0, 1.0, 2.0, 3.0]
            .iter()
            .map(|&v| vec![v, -v * v])
            .collect();
        let y: Vec<f64> = x.iter().map(|row| 1.0 + 2.0 * row[0]).collect();
        let (b, w) = ridge(&x, &y, &[0.0, 0.0]).unwrap();
        assert!((b - 1.0).abs() < 1e-9 && (w[0] - 2.0).abs() < 1e-9 && w[1].abs() < 1e-9);
        // One column of variance 1.25: cov 2.5 / (1.25 + 1.25).
        let one: Vec<Vec<f64>> = x.iter().map(|row| vec![row[0]]).collect();
        let (_, w) = ridge(&one, &y, &[1.25]).unwrap();
        assert!((w[0] - 1.0).abs() < 1e-9);
        // What would be negative is 0, and the mean stays.
        let down: Vec<f64> = y.iter().map(|y| -y).collect();
        let (b, w) = ridge(&one, &down, &[0.0]).unwrap();
        assert_eq!((b, w), (-4.0, vec![0.0]));
        assert_eq!(ridge(&[], &[], &[1.0]), None);
        // Through (0, 1) the line has slope 2: sum x (y - 1) = 28 over sum x^2 = 14.
        let w = ridge_from(&one, &y, &[0.0], 1.0).unwrap();
        assert!((w[0] - 2.0).abs() < 1e-9);
        // From 0: (sum x y = 34) / 14; with a penalty of 1 on the mean square 3.5, 8.5 / 4.5.
        let w = ridge_from(&one, &y, &[0.0], 0.0).unwrap();
        assert!((w[0] - 34.0 / 14.0).abs() < 1e-9);
        let w = ridge_from(&one, &y, &[1.0], 0.0).unwrap();
        assert!((w[0] - 8.5 / 4.5).abs() < 1e-9);
        assert_eq!(ridge_from(&one, &y, &[0.0, 0.0], 0.0), None);
    }
}
