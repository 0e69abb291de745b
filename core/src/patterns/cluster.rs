//! Clusters of signatures, by methods of linfa; which of them, and how many, is chosen by
//! the silhouette with a floor ([`super::silhouette`]).

use linfa::DatasetBase;
use linfa::traits::{Fit as _, Predict as _, Transformer as _};
use linfa_clustering::{Dbscan, GaussianMixtureModel, KMeans};
use linfa_nn::CommonNearestNeighbour;
use linfa_nn::distance::L2Dist;
use ndarray::{Array1, Array2};

use super::silhouette::silhouette;
use crate::stats::Chance;

/// Points on which method and setting are chosen; the chosen one is then run on all.
pub const MAX_CHOSEN_ON: usize = 1_500;

/// Calls that make a place dense, for the density methods.
const DENSE: usize = 4;

/// Dimensions that a mixture sees: its covariances are full.
const MIXTURE_DIMENSIONS: usize = 6;

/// Numbers of clusters and radii that are tried.
const COUNTS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const RADII: [f64; 6] = [0.3, 0.5, 0.7, 0.9, 1.2, 1.6];

/// How clusters are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Dense places, the rest is noise (Ester et al. 1996).
    Dbscan,
    /// Nearest of k means (k-means++, three starts).
    KMeans,
    /// A mixture of Gaussians over six random projections.
    Mixture,
}

impl Method {
    /// All of them, the simpler ones first: ties go to the first.
    pub const ALL: [Self; 3] = [Self::Dbscan, Self::KMeans, Self::Mixture];

    /// The name in tables and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dbscan => "dbscan",
            Self::KMeans => "kmeans",
            Self::Mixture => "mixture",
        }
    }

    fn settings(self, points: usize) -> Vec<Setting> {
        match self {
            Self::Dbscan => RADII.into_iter().map(Setting::Radius).collect(),
            Self::KMeans => {
                let fit = COUNTS.into_iter().filter(|&k| k <= points);
                fit.map(Setting::Count).collect()
            }
            // A covariance of six dimensions needs more points than that.
            Self::Mixture => {
                let fit = COUNTS
                    .into_iter()
                    .filter(|&k| k > 1 && k <= 12 && 10 * k <= points);
                fit.map(Setting::Count).collect()
            }
        }
    }
}

/// The number that a method needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Clusters.
    Count(usize),
    /// Distance within which points are neighbours.
    Radius(f64),
}

impl Setting {
    /// As a number.
    #[must_use]
    pub fn number(self) -> f64 {
        match self {
            Self::Count(k) => k as f64,
            Self::Radius(radius) => radius,
        }
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The method.
    pub method: Method,
    /// Its number.
    pub setting: Setting,
    /// The silhouette of the choice, over the points that it was made on.
    pub score: f64,
    /// The cluster of each point, from 0; `None`: noise.
    pub labels: Vec<Option<usize>>,
}

fn matrix(points: &[Vec<f64>]) -> Option<Array2<f64>> {
    let width = points.first()?.len();
    let flat: Vec<f64> = points.iter().flatten().copied().collect();
    if width == 0 || flat.iter().any(|x| !x.is_finite()) {
        return None;
    }
    Array2::from_shape_vec((points.len(), width), flat).ok()
}

/// Clusters points by one method. `counts`: calls per point; clusters of fewer than `least`
/// calls become noise. `None` if the method cannot be run on them (too few points, all of
/// dimension 0, a value that is not finite, a mixture that degenerates).
#[must_use]
pub fn cluster(
    points: &[Vec<f64>],
    counts: &[u64],
    method: Method,
    setting: Setting,
    least: u64,
) -> Option<Vec<Option<usize>>> {
    if points.len() != counts.len() {
        return None;
    }
    let found = match (method, setting) {
        (Method::KMeans, Setting::Count(k)) => kmeans(&matrix(points)?, k),
        (Method::Mixture, Setting::Count(k)) => mixture(&matrix(points)?, k),
        (Method::Dbscan, Setting::Radius(radius)) => {
            dense(points, counts, |rows| dbscan(rows, radius))
        }
        _ => None,
    }?;
    Some(renumber(&found, counts, least))
}

fn kmeans(points: &Array2<f64>, k: usize) -> Option<Vec<Option<usize>>> {
    if k == 0 || k > points.nrows() {
        return None;
    }
    let data = DatasetBase::from(points.clone());
    let model = KMeans::params(k)
        .n_runs(3)
        .max_n_iterations(60)
        .tolerance(1e-3)
        .fit(&data)
        .ok()?;
    let labels: Array1<usize> = model.predict(points);
    Some(labels.into_iter().map(Some).collect())
}

fn mixture(points: &Array2<f64>, k: usize) -> Option<Vec<Option<usize>>> {
    let width = points.ncols();
    let points = if width > MIXTURE_DIMENSIONS {
        let mut chance = Chance::new(6);
        let scale = (MIXTURE_DIMENSIONS as f64).sqrt().recip();
        let projection =
            Array2::from_shape_fn((width, MIXTURE_DIMENSIONS), |_| scale * chance.normal());
        points.dot(&projection)
    } else {
        points.clone()
    };
    if points.nrows() < 10 * k {
        return None;
    }
    let data = DatasetBase::from(points.clone());
    let model = GaussianMixtureModel::params(k)
        .n_runs(2)
        .tolerance(1e-3)
        .reg_covariance(1e-3)
        .fit(&data)
        .ok()?;
    let labels: Array1<usize> = model.predict(&points);
    Some(labels.into_iter().map(Some).collect())
}

/// The density methods know no counts: a point of several calls stands there several times,
/// up to what makes a place dense.
fn dense(
    points: &[Vec<f64>],
    counts: &[u64],
    run: impl Fn(&Array2<f64>) -> Option<Vec<Option<usize>>>,
) -> Option<Vec<Option<usize>>> {
    let mut rows = Vec::new();
    let mut first = Vec::with_capacity(points.len());
    for (point, count) in points.iter().zip(counts) {
        first.push(rows.len());
        let times = usize::try_from(*count).unwrap_or(DENSE).clamp(1, DENSE);
        rows.extend(std::iter::repeat_n(point.clone(), times));
    }
    let labels = run(&matrix(&rows)?)?;
    first
        .into_iter()
        .map(|at| labels.get(at).copied())
        .collect()
}

fn dbscan(rows: &Array2<f64>, radius: f64) -> Option<Vec<Option<usize>>> {
    let model =
        Dbscan::params_with(DENSE, L2Dist, CommonNearestNeighbour::BallTree).tolerance(radius);
    let labels: Array1<Option<usize>> = model.transform(rows).ok()?;
    Some(labels.into_iter().collect())
}

/// Clusters in the order of their size, small ones as noise.
fn renumber(labels: &[Option<usize>], counts: &[u64], least: u64) -> Vec<Option<usize>> {
    let clusters = labels.iter().flatten().max().map_or(0, |last| last + 1);
    let mut sizes = vec![0u64; clusters];
    let mut firsts = vec![usize::MAX; clusters];
    for (at, (label, count)) in labels.iter().zip(counts).enumerate() {
        if let Some(label) = label {
            sizes[*label] += count;
            firsts[*label] = firsts[*label].min(at);
        }
    }
    let mut order: Vec<usize> = (0..clusters)
        .filter(|&c| sizes[c] >= least.max(1))
        .collect();
    order.sort_by(|&a, &b| sizes[b].cmp(&sizes[a]).then(firsts[a].cmp(&firsts[b])));
    let mut name = vec![None; clusters];
    for (new, old) in order.into_iter().enumerate() {
        name[old] = Some(new);
    }
    labels.iter().map(|label| name[(*label)?]).collect()
}

/// Chooses among methods and their settings by the silhouette, and clusters all points with
/// the choice. The first [`MAX_CHOSEN_ON`] points decide: hand them over in an order in which
/// these are a fair sample. `None` if no method can be run on the points.
#[must_use]
pub fn choose(
    points: &[Vec<f64>],
    counts: &[u64],
    methods: &[Method],
    least: u64,
) -> Option<Clustering> {
    let some = points.len().min(MAX_CHOSEN_ON);
    let (seen, seen_counts) = (&points[..some], counts.get(..some)?);
    let distances = distances(seen);
    let weights: Vec<f64> = seen_counts.iter().map(|&n| n as f64).collect();
    // A sample thins out every cluster alike.
    let thinner = some as f64 / points.len().max(1) as f64;
    let least_seen = ((least as f64) * thinner).ceil() as u64;
    let mut best: Option<(f64, Method, Setting, Vec<Option<usize>>)> = None;
    for &method in methods {
        for setting in method.settings(some) {
            let Some(labels) = cluster(seen, seen_counts, method, setting, least_seen) else {
                continue;
            };
            let Some(score) = silhouette(&distances, &weights, &labels) else {
                continue;
            };
            if best.as_ref().is_none_or(|(most, ..)| score > most + 1e-9) {
                best = Some((score, method, setting, labels));
            }
        }
    }
    let (score, method, setting, labels) = best?;
    let labels = if some == points.len() {
        labels
    } else {
        cluster(points, counts, method, setting, least)?
    };
    Some(Clustering {
        method,
        setting,
        score,
        labels,
    })
}

fn distances(points: &[Vec<f64>]) -> Vec<f32> {
    let n = points.len();
    let mut out = vec![0.0f32; n * n];
    for a in 0..n {
        for b in 0..a {
            let square: f64 = points[a]
                .iter()
                .zip(&points[b])
                .map(|(x, y)| (x - y) * (x - y))
                .sum();
            let distance = square.sqrt() as f32;
            out[a * n + b] = distance;
            out[b * n + a] = distance;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three places 2 apart, eleven points near each; one point far from all.
    fn places() -> (Vec<Vec<f64>>, Vec<u64>) {
        let mut chance = Chance::new(3);
        let mut points = Vec::new();
        for place in [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]] {
            for _ in 0..11 {
                points.push(vec![
                    place[0] + 0.05 * chance.normal(),
                    place[1] + 0.05 * chance.normal(),
                ]);
            }
        }
        points.push(vec![9.0, 9.0]);
        let counts = vec![2; points.len()];
        (points, counts)
    }

    #[test]
    fn a_mixture_finds_three_places() {
        // Without the call that is far from all: a mixture knows no noise.
        let (mut points, mut counts) = places();
        points.pop();
        counts.pop();
        let labels = cluster(&points, &counts, Method::Mixture, Setting::Count(3), 5).unwrap();
        for start in [0, 11, 22] {
            assert!(
                labels[start].is_some()
                    && labels[start..start + 11]
                        .iter()
                        .all(|l| *l == labels[start]),
                "{labels:?}"
            );
        }
        assert!(labels[0] != labels[11] && labels[11] != labels[22] && labels[0] != labels[22]);
    }

    #[test]
    fn dense_places_and_means_find_three_places() {
        let (points, counts) = places();
        for (method, setting) in [
            (Method::Dbscan, Setting::Radius(0.5)),
            (Method::KMeans, Setting::Count(4)),
        ] {
            let labels = cluster(&points, &counts, method, setting, 5).unwrap();
            for start in [0, 11, 22] {
                let own = labels[start];
                assert!(own.is_some(), "{method:?} {labels:?}");
                assert!(
                    labels[start..start + 11].iter().all(|l| *l == own),
                    "{method:?} {labels:?}"
                );
            }
            assert!(labels[0] != labels[11] && labels[11] != labels[22] && labels[0] != labels[22]);
            assert_eq!(labels[33], None, "{method:?}");
        }
    }

    #[test]
    fn the_choice_keeps_apart_what_is_apart_and_together_what_is_near() {
        let (points, counts) = places();
        let found = choose(&points, &counts, &Method::ALL, 5).unwrap();
        assert_eq!(found.method, Method::Dbscan);
        assert_eq!(found.labels.iter().flatten().max(), Some(&2));
        assert_eq!(found.labels[33], None);
        assert!(found.score > 0.9, "{}", found.score);
        // One lump is one cluster, though it could be cut in two.
        let lump = &points[..11];
        let found = choose(lump, &counts[..11], &Method::ALL, 2).unwrap();
        assert!(found.labels.iter().all(|l| *l == Some(0)), "{found:?}");
        let again = choose(lump, &counts[..11], &Method::ALL, 2).unwrap();
        assert_eq!(found, again);
    }

    #[test]
    fn one_signature_of_many_calls_is_dense_and_odd_input_is_refused() {
        let points = vec![vec![0.0, 1.0], vec![5.0, 5.0]];
        let labels = cluster(&points, &[30, 1], Method::Dbscan, Setting::Radius(0.3), 5).unwrap();
        assert_eq!(labels, [Some(0), None]);
        let all = |points: &[Vec<f64>]| choose(points, &vec![9; points.len()], &Method::ALL, 1);
        assert_eq!(all(&[]), None);
        assert_eq!(all(&[vec![]]), None);
        assert_eq!(all(&[vec![f64::NAN], vec![1.0]]), None);
        assert_eq!(all(&[vec![1.0]]).unwrap().labels, [Some(0)]);
        // Constant features: one cluster.
        let same = vec![vec![1.0, 1.0]; 20];
        assert!(all(&same).unwrap().labels.iter().all(|l| *l == Some(0)));
        assert_eq!(
            cluster(&same, &[1], Method::KMeans, Setting::Count(2), 1),
            None
        );
        assert_eq!(
            cluster(&same, &[1; 20], Method::KMeans, Setting::Radius(1.0), 1),
            None
        );
        assert_eq!(
            cluster(&same, &[1; 20], Method::KMeans, Setting::Count(0), 1),
            None
        );
    }
}
