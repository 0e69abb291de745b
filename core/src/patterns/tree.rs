//! A cluster described by few conditions: a shallow tree, cut back to what it needs.

use std::collections::BTreeMap;

use linfa::prelude::*;
use linfa_trees::{DecisionTree, TreeNode};
use ndarray::{Array1, Array2};

/// Conditions of one clause, at most.
const DEPTH: usize = 5;
/// Features that a tree may ask for.
const ASKED: usize = 40;
/// Rows that a tree is grown on.
const GROWN_ON: usize = 1_500;
/// A clause must find at least this share of the calls that the rule finds.
const WORTH: f64 = 0.02;

/// A condition: a feature holds, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Literal {
    /// The feature.
    pub feature: u32,
    /// Whether it must hold.
    pub holds: bool,
}

/// A rule: any of the clauses, all literals of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The clauses, the one that finds most first.
    pub clauses: Vec<Vec<Literal>>,
}

/// Calls with the same features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The features that hold, sorted.
    pub features: Vec<u32>,
    /// Calls that belong to the cluster.
    pub inside: u64,
    /// Calls that do not.
    pub outside: u64,
}

impl Row {
    fn meets(&self, clause: &[Literal]) -> bool {
        let meets = |literal: &Literal| {
            self.features.binary_search(&literal.feature).is_ok() == literal.holds
        };
        clause.iter().all(meets)
    }
}

impl Rule {
    /// Whether calls with these features (sorted) meet the rule.
    #[must_use]
    pub fn meets(&self, row: &Row) -> bool {
        self.clauses.iter().any(|clause| row.meets(clause))
    }

    /// Calls inside and outside of the cluster that meet it.
    fn found(&self, rows: &[Row]) -> (f64, f64) {
        let met = rows.iter().filter(|row| self.meets(row));
        met.fold((0.0, 0.0), |sum, row| {
            (sum.0 + row.inside as f64, sum.1 + row.outside as f64)
        })
    }

    /// Harmonic mean of precision and recall on rows.
    fn worth(&self, rows: &[Row]) -> f64 {
        let all: f64 = rows.iter().map(|row| row.inside as f64).sum();
        let (inside, outside) = self.found(rows);
        if inside == 0.0 {
            0.0
        } else {
            2.0 * inside / (inside + outside + all)
        }
    }

    fn literals(&self) -> usize {
        self.clauses.iter().map(Vec::len).sum()
    }
}

/// The rule for a cluster: the better one of a shallow tree (linfa-trees, Gini, depth 5)
/// and a single clause grown condition by condition; what does not make it better is taken
/// out again. Where features tell the same, the one of the lower `preference` is asked.
/// `None` if nothing is inside, or nothing tells it from what is outside; one clause
/// without conditions if nothing is outside.
#[must_use]
pub fn describe(rows: &[Row], preference: &dyn Fn(u32) -> u32) -> Option<Rule> {
    let features = asked(rows, preference);
    let chosen = near(rows, &features);
    let single = grow(&chosen, &features);
    let outside = rows.iter().any(|row| row.outside > 0);
    let mut best: Option<Rule> = None;
    // Growing step by step may pass by what one feature alone would tell.
    let literals = features
        .iter()
        .flat_map(|&feature| [true, false].map(|holds| Literal { feature, holds }));
    let alone = literals.map(|literal| Rule {
        clauses: vec![vec![literal]],
    });
    for rule in std::iter::once(single)
        .chain(tree(&chosen, &features))
        .chain(alone)
    {
        let rule = prune(rule, rows);
        // A clause without conditions tells nothing, unless there is nothing to be told from.
        let bare = rule.clauses.iter().any(Vec::is_empty);
        if rule.clauses.is_empty() || rule.worth(rows) == 0.0 || (bare && outside) {
            continue;
        }
        let key = |rule: &Rule| (rule.worth(rows) * 500.0).round() as i64 - rule.literals() as i64;
        if best.as_ref().is_none_or(|other| key(&rule) > key(other)) {
            best = Some(rule);
        }
    }
    best
}

/// The features that tell most of the cluster, by their correlation with it (phi).
fn asked(rows: &[Row], preference: &dyn Fn(u32) -> u32) -> Vec<u32> {
    let (mut inside, mut outside) = (0.0, 0.0);
    let mut of: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for row in rows {
        inside += row.inside as f64;
        outside += row.outside as f64;
        for feature in &row.features {
            let entry = of.entry(*feature).or_default();
            entry.0 += row.inside as f64;
            entry.1 += row.outside as f64;
        }
    }
    let all = inside + outside;
    let phi = |(a, b): (f64, f64)| {
        let has = a + b;
        let spread = (inside * outside * has * (all - has)).sqrt();
        if spread == 0.0 {
            0.0
        } else {
            (a * outside - b * inside).abs() / spread
        }
    };
    let mut ranked: Vec<(u32, f64)> = of.into_iter().map(|(f, n)| (f, phi(n))).collect();
    ranked.retain(|(_, phi)| *phi > 0.0);
    let rounded = |x: f64| (x * 1e6).round() as i64;
    ranked.sort_by_key(|(feature, phi)| (-rounded(*phi), preference(*feature), *feature));
    // The strongest, told apart by what is preferred.
    let mut kept: Vec<u32> = ranked.into_iter().take(ASKED).map(|(f, _)| f).collect();
    kept.sort_by_key(|feature| (preference(*feature), *feature));
    kept
}

/// The rows that a tree is grown on: all of the cluster, then those most like it.
fn near(rows: &[Row], features: &[u32]) -> Vec<Row> {
    let mut typical: BTreeMap<u32, f64> = BTreeMap::new();
    let all: f64 = rows.iter().map(|row| row.inside as f64).sum();
    for row in rows {
        for feature in row.features.iter().filter(|f| features.contains(f)) {
            *typical.entry(*feature).or_default() += row.inside as f64 / all.max(1.0);
        }
    }
    let alike = |row: &Row| -> f64 { row.features.iter().filter_map(|f| typical.get(f)).sum() };
    let mut order: Vec<(i64, u64, usize)> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let first = if row.inside > 0 {
                i64::MIN
            } else {
                -((alike(row) * 1e6) as i64)
            };
            (first, u64::MAX - (row.inside + row.outside), at)
        })
        .collect();
    order.sort_unstable();
    order.truncate(GROWN_ON);
    order
        .into_iter()
        .map(|(_, _, at)| rows[at].clone())
        .collect()
}

/// One clause, condition by condition, as long as each makes the rule better.
fn grow(rows: &[Row], features: &[u32]) -> Rule {
    let mut rule = Rule {
        clauses: vec![Vec::new()],
    };
    let mut worth = rule.worth(rows);
    for _ in 0..DEPTH {
        let mut best: Option<(f64, Literal)> = None;
        for &feature in features {
            // What holds says more to a reader than what does not.
            for holds in [true, false] {
                let literal = Literal { feature, holds };
                let mut clause = rule.clauses[0].clone();
                clause.push(literal);
                let found = Rule {
                    clauses: vec![clause],
                }
                .worth(rows)
                    - if holds { 0.0 } else { 1e-3 };
                if best.is_none_or(|(most, _)| found > most + 1e-9) {
                    best = Some((found, literal));
                }
            }
        }
        match best {
            Some((found, literal)) if found > worth + 1e-3 => {
                rule.clauses[0].push(literal);
                worth = found;
            }
            _ => break,
        }
    }
    rule
}

/// A leaf with as many calls inside as outside would be called one or the other by chance, and
/// merged with its neighbour by the same chance: the cluster's calls weigh a little more.
const TIE: f32 = 1.0001;

fn tree(rows: &[Row], features: &[u32]) -> Option<Rule> {
    if rows.is_empty() || features.is_empty() {
        return None;
    }
    // A row of calls inside and outside stands twice.
    let mut parts: Vec<(&Row, usize, f32)> = Vec::new();
    for row in rows {
        for (class, count, scale) in [(1, row.inside, TIE), (0, row.outside, 1.0)] {
            if count > 0 {
                parts.push((row, class, count as f32 * scale));
            }
        }
    }
    let has = |(at, column): (usize, usize)| {
        f64::from(u8::from(
            parts[at]
                .0
                .features
                .binary_search(&features[column])
                .is_ok(),
        ))
    };
    let records = Array2::from_shape_fn((parts.len(), features.len()), has);
    let targets: Array1<usize> = parts.iter().map(|part| part.1).collect();
    let weights: Array1<f32> = parts.iter().map(|part| part.2).collect();
    let data = Dataset::new(records, targets).with_weights(weights);
    let model = DecisionTree::<f64, usize>::params()
        .max_depth(Some(DEPTH))
        .fit(&data)
        .ok()?;
    let mut clauses = Vec::new();
    walk(model.root_node(), features, &mut Vec::new(), &mut clauses);
    // Which leaves are the cluster's is counted here: on a tie the library's word is open.
    clauses.retain(|clause: &Vec<Literal>| {
        let rule = Rule {
            clauses: vec![clause.clone()],
        };
        let (inside, outside) = rule.found(rows);
        inside > outside
    });
    (!clauses.is_empty()).then_some(Rule { clauses })
}

fn walk(
    node: &TreeNode<f64, usize>,
    features: &[u32],
    path: &mut Vec<Literal>,
    out: &mut Vec<Vec<Literal>>,
) {
    if node.is_leaf() {
        out.push(path.clone());
        return;
    }
    let (at, _, _) = node.split();
    let Some(&feature) = features.get(at) else {
        return;
    };
    // The left child has the values below the split: the feature does not hold.
    for (child, holds) in node.children().into_iter().zip([false, true]) {
        if let Some(child) = child {
            path.push(Literal { feature, holds });
            walk(child, features, path, out);
            path.pop();
        }
    }
}

/// Takes out clauses that find next to nothing, and literals without which it is as good.
fn prune(mut rule: Rule, rows: &[Row]) -> Rule {
    let found = |clause: &Vec<Literal>| {
        let met = rows.iter().filter(|row| row.meets(clause));
        met.map(|row| row.inside).sum::<u64>()
    };
    let all: u64 = rows.iter().map(|row| row.inside).sum();
    rule.clauses
        .retain(|clause| found(clause) as f64 >= WORTH * all as f64);
    for at in 0..rule.clauses.len() {
        let mut literal = 0;
        // First what does not hold, then from the end: what a tree asked last says least.
        let mut order: Vec<Literal> = rule.clauses[at].clone();
        order.sort_by_key(|l| l.holds);
        while literal < order.len() {
            let mut without = rule.clone();
            without.clauses[at].retain(|l| *l != order[literal]);
            if !without.clauses[at].is_empty() && without.worth(rows) >= rule.worth(rows) - 1e-9 {
                rule = without;
            }
            literal += 1;
        }
        rule.clauses[at].sort_unstable();
        rule.clauses[at].dedup();
    }
    rule.clauses
        .sort_by_key(|clause| (std::cmp::Reverse(found(clause)), clause.clone()));
    rule.clauses.dedup();
    let mut at = rule.clauses.len();
    while at > 1 {
        at -= 1;
        let mut without = rule.clone();
        without.clauses.remove(at);
        if without.worth(rows) >= rule.worth(rows) - 1e-9 {
            rule = without;
        }
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(features: &[u32], inside: u64, outside: u64) -> Row {
        Row {
            features: features.to_vec(),
            inside,
            outside,
        }
    }

    fn holds(feature: u32) -> Literal {
        Literal {
            feature,
            holds: true,
        }
    }

    #[test]
    fn two_conditions_are_two_literals() {
        // Feature 9 goes along everywhere and says nothing.
        let rows = [
            row(&[1, 2, 9], 20, 0),
            row(&[1, 3, 9], 0, 30),
            row(&[2, 4, 9], 0, 30),
            row(&[3, 4, 9], 0, 30),
        ];
        let rule = describe(&rows, &|f| f).unwrap();
        assert_eq!(rule.clauses, [vec![holds(1), holds(2)]]);
    }

    #[test]
    fn one_condition_suffices_where_it_does() {
        let rows = [row(&[1, 2], 20, 0), row(&[3, 4], 0, 50)];
        // 1, 2 and not 3, not 4 all tell the same: the preferred one is asked.
        assert_eq!(
            describe(&rows, &|f| 10 - f).unwrap().clauses,
            [vec![holds(2)]]
        );
        assert_eq!(describe(&rows, &|f| f).unwrap().clauses, [vec![holds(1)]]);
    }

    #[test]
    fn either_of_two_places_is_two_clauses() {
        let rows = [
            row(&[1, 5], 20, 0),
            row(&[2, 6], 15, 0),
            row(&[1, 6], 0, 40),
            row(&[2, 5], 0, 40),
        ];
        let rule = describe(&rows, &|f| f).unwrap();
        assert_eq!(rule.clauses.len(), 2, "{rule:?}");
        for part in &rows {
            assert_eq!(rule.meets(part), part.inside > 0, "{rule:?}");
        }
    }

    #[test]
    fn nothing_inside_has_no_rule() {
        assert_eq!(describe(&[row(&[1], 0, 5)], &|f| f), None);
        assert_eq!(describe(&[], &|f| f), None);
        // Nothing tells them apart.
        assert_eq!(describe(&[row(&[1], 5, 5)], &|f| f), None);
        // Nothing to be told from.
        assert_eq!(
            describe(&[row(&[1], 5, 0)], &|f| f).unwrap().clauses,
            [vec![]]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_rule_is_never_worse_than_the_best_single_feature(
            rows in prop::collection::vec((prop::collection::btree_set(0u32..8, 0..5), 0u64..20, 0u64..20), 1..30)
        ) {
            let rows: Vec<Row> = rows.into_iter().map(|(f, i, o)| row(&f.into_iter().collect::<Vec<_>>(), i, o)).collect();
            let Some(rule) = describe(&rows, &|f| f) else { return Ok(()) };
            // A feature that the cluster has as often as all calls tells nothing of it, and is no rule.
            let all = Rule { clauses: vec![vec![]] }.found(&rows);
            let tells = |rule: &Rule| { let found = rule.found(&rows); found.0 * all.1 != found.1 * all.0 };
            let alone = (0..8).map(|f| Rule { clauses: vec![vec![holds(f)]] });
            let best = alone.filter(tells).map(|rule| rule.worth(&rows)).fold(0.0, f64::max);
            prop_assert!(rule.worth(&rows) >= best - 0.05, "{rule:?} {} {best}", rule.worth(&rows));
            prop_assert_eq!(describe(&rows, &|f| f), Some(rule));
        }
    }
}
