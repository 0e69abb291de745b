//! How well clusters keep apart, where a difference too small to matter counts as small.

/// The distance from which on two signatures really differ: one component of weight 1
/// (docs/patterns.md has the weights).
pub const REAL_DISTANCE: f64 = 1.0;

/// The mean silhouette (Rousseeuw 1987) over all calls, with a floor: of a call whose mean
/// distance to its own cluster is a, and to the nearest other one b,
/// s = (b - a) / max(a, b, [`REAL_DISTANCE`]). Without the floor, cutting one cluster into
/// its identical signatures would score 1 however close they are. A call of no cluster
/// and a call alone in its cluster score 0; with one cluster only, b is the floor.
///
/// `distances` is row-major n x n; `counts` calls per point; `labels` the clusters. In
/// [-1, 1]; `None` without points, or if the lengths do not fit.
#[must_use]
pub fn silhouette(distances: &[f32], counts: &[f64], labels: &[Option<usize>]) -> Option<f64> {
    let n = counts.len();
    if n == 0 || labels.len() != n || distances.len() != n * n {
        return None;
    }
    let clusters = labels.iter().flatten().max().map_or(0, |last| last + 1);
    let mut sizes = vec![0.0; clusters];
    for (count, label) in counts.iter().zip(labels) {
        if let Some(label) = label {
            sizes[*label] += count;
        }
    }
    let mut score = 0.0;
    let mut sums = vec![0.0; clusters];
    for at in 0..n {
        let Some(own) = labels[at] else { continue };
        if sizes[own] <= 1.0 {
            continue;
        }
        sums.fill(0.0);
        let row = &distances[at * n..(at + 1) * n];
        for ((distance, count), label) in row.iter().zip(counts).zip(labels) {
            if let Some(label) = label {
                sums[*label] += f64::from(*distance) * count;
            }
        }
        let a = sums[own] / (sizes[own] - 1.0);
        let other = (0..clusters).filter(|&c| c != own && sizes[c] > 0.0);
        let b = other
            .map(|c| sums[c] / sizes[c])
            .fold(f64::INFINITY, f64::min);
        let b = if b.is_finite() { b } else { REAL_DISTANCE };
        score += counts[at] * (b - a) / a.max(b).max(REAL_DISTANCE);
    }
    let all: f64 = counts.iter().sum();
    Some(if all > 0.0 { score / all } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Two points of two calls each, 2 apart: a = 0, b = 2, s = 1.
        let d = [0.0, 2.0, 2.0, 0.0];
        let found = silhouette(&d, &[2.0, 2.0], &[Some(0), Some(1)]).unwrap();
        assert!((found - 1.0).abs() < 1e-12);
        // As one cluster: a = 2 x 2 / 3, b = 1, s = (1 - 4/3) / (4/3).
        let one = silhouette(&d, &[2.0, 2.0], &[Some(0), Some(0)]).unwrap();
        assert!((one + 0.25).abs() < 1e-12);
        // 0.1 apart: to cut them scores 0.1, to leave them together 1 - 0.2 / 3.
        let d = [0.0, 0.1, 0.1, 0.0];
        let cut = silhouette(&d, &[2.0, 2.0], &[Some(0), Some(1)]).unwrap();
        let whole = silhouette(&d, &[2.0, 2.0], &[Some(0), Some(0)]).unwrap();
        assert!((cut - 0.1).abs() < 1e-6 && (whole - (1.0 - 0.2 / 3.0)).abs() < 1e-6);
        // Noise scores nothing.
        let noisy = silhouette(&d, &[2.0, 2.0], &[Some(0), None]).unwrap();
        assert!((noisy - 0.5).abs() < 1e-12);
        assert_eq!(silhouette(&[], &[], &[]), None);
        assert_eq!(silhouette(&[0.0], &[1.0, 1.0], &[None, None]), None);
    }
}
