//! Signatures as points.

use std::collections::BTreeMap;

/// What calls of one kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Columns with their values, each column once, in order of the columns.
    pub features: Vec<(u32, f64)>,
    /// Calls that have it.
    pub count: u64,
}

/// The signatures as points of equal dimension, row by row: the `own` columns that most
/// calls have get a dimension of their own, all others share `hashed` dimensions, each
/// with a sign of its own (feature hashing, Weinberger et al. 2009: inner products are kept
/// on average). So 10,000 APIs do not make 10,000 dimensions.
#[must_use]
pub fn embed(signatures: &[Signature], own: usize, hashed: usize) -> Vec<Vec<f64>> {
    let mut mass: BTreeMap<u32, f64> = BTreeMap::new();
    for signature in signatures {
        for (column, value) in &signature.features {
            *mass.entry(*column).or_default() += signature.count as f64 * value.abs();
        }
    }
    let mut columns: Vec<(u32, f64)> = mass.into_iter().collect();
    columns.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let shared = if columns.len() > own {
        hashed.max(1)
    } else {
        0
    };
    let kept = columns.len().min(own);
    let place: BTreeMap<u32, usize> = columns[..kept]
        .iter()
        .enumerate()
        .map(|(at, (column, _))| (*column, at))
        .collect();
    let row = |signature: &Signature| {
        let mut point = vec![0.0; kept + shared];
        for (column, value) in &signature.features {
            match place.get(column) {
                Some(&at) => point[at] += value,
                None => {
                    let bits = mix(u64::from(*column));
                    let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
                    let at = kept + ((bits >> 1) % shared.max(1) as u64) as usize;
                    point[at] += sign * value;
                }
            }
        }
        point
    };
    signatures.iter().map(row).collect()
}

/// Splitmix64's finisher.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_columns_have_their_own_dimension_and_the_rest_share() {
        let signature = |columns: &[u32], count| Signature {
            features: columns.iter().map(|&c| (c, 1.0)).collect(),
            count,
        };
        let all = [
            signature(&[1, 7], 10),
            signature(&[2, 9], 5),
            signature(&[1, 8], 1),
        ];
        let points = embed(&all, 2, 4);
        assert!(points.iter().all(|p| p.len() == 6));
        // Column 1 has mass 11, column 7 mass 10: they stand first.
        assert_eq!(points[0][..2], [1.0, 1.0]);
        assert_eq!(points[2][..2], [1.0, 0.0]);
        assert_eq!(points[1][..2], [0.0, 0.0]);
        let rest: f64 = points[1][2..].iter().map(|x| x.abs()).sum();
        assert!(rest == 2.0 || rest == 0.0, "{points:?}");
        // Without a need nothing is shared.
        assert!(embed(&all, 10, 4).iter().all(|p| p.len() == 5));
        assert!(embed(&[], 10, 4).is_empty());
    }
}
