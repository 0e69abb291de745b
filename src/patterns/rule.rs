//! Rules as SQL, and how they do on calls that were not used for mining.

use std::collections::{BTreeMap, HashMap};

use arrow::array::{Array as _, AsArray as _};
use fidelake_core::patterns::{Literal, Row, Rule, describe};

use super::call::{Calls, place};
use super::error::{PatternError, PatternResult};
use super::feature::Field;
use super::read::filled;
use crate::engine::Engine;
use crate::engine::columns::Columns;
use crate::import::Progress;

const HELD_OUT: &str = include_str!("../../queries/patterns/held_out.sql");

/// The rule for a cluster among the calls used for mining. `label` says to which cluster
/// the calls of a kind belong, with how many there are.
pub(super) fn rule(
    all: &Calls,
    cluster: usize,
    kinds: &BTreeMap<u32, (Option<usize>, u64)>,
    alike: &[Row],
) -> Option<Rule> {
    let mut rows: Vec<Row> = kinds
        .iter()
        .map(|(kind, (label, count))| {
            let inside = *label == Some(cluster);
            Row {
                features: all.kinds[*kind as usize].clone(),
                inside: if inside { *count } else { 0 },
                outside: if inside { 0 } else { *count },
            }
        })
        .collect();
    rows.extend(alike.iter().cloned());
    let preference = |feature: u32| all.vocabulary.of(feature).0.preference();
    describe(&rows, &preference)
}

/// The rule as a condition over view `pattern_features`. Where nothing is to be told from
/// anything else, what calls of `kind` are.
pub(super) fn sql(all: &Calls, rule: &Rule, kind: u32) -> String {
    let clause = |literals: &Vec<Literal>| {
        let mut literals = literals.clone();
        if literals.is_empty() {
            let own = all.kinds[kind as usize].iter();
            let told = own.filter(|f| {
                matches!(
                    all.vocabulary.of(**f).0,
                    Field::Api | Field::Differs | Field::OutcomeReal
                )
            });
            literals = told
                .map(|&feature| Literal {
                    feature,
                    holds: true,
                })
                .collect();
        }
        literals.sort_by_key(|l| (all.vocabulary.of(l.feature).0.preference(), l.feature));
        let mut conditions: Vec<String> = literals
            .iter()
            .map(|l| all.vocabulary.condition(l.feature, l.holds))
            .collect();
        // All calls of a pattern differ. Where all mined calls of a tool did, nothing else says so,
        // and the rule would find those, too, that agree elsewhere.
        let of = |l: &Literal| all.vocabulary.of(l.feature).0;
        if !literals.iter().any(|l| of(l).tells_difference()) {
            conditions.push("differs <> 'nothing'".to_owned());
        }
        conditions.join(" AND ")
    };
    match rule.clauses.as_slice() {
        [one] => clause(one),
        many => {
            let parts: Vec<String> = many.iter().map(|c| format!("({})", clause(c))).collect();
            parts.join(" OR ")
        }
    }
}

/// Calls in held-out trajectories that a rule finds, and how many of them belong to its pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) found: u64,
    pub(super) right: u64,
}

/// Runs the rules, as SQL, over the held-out trajectories. `pattern` says which pattern a
/// call belongs to.
pub(super) async fn held_out(
    engine: &Engine,
    condition: &str,
    seed: u64,
    rules: &[String],
    pattern: &HashMap<u64, usize>,
    progress: &dyn Progress,
) -> PatternResult<Vec<Kept>> {
    let mut out = vec![Kept::default(); rules.len()];
    if rules.is_empty() {
        return Ok(out);
    }
    let columns: Vec<String> = rules
        .iter()
        .enumerate()
        .map(|(at, rule)| format!("coalesce({rule}, false) AS rule_{at}"))
        .collect();
    let any: Vec<String> = rules.iter().map(|rule| format!("({rule})")).collect();
    let sql = filled(HELD_OUT, condition, seed)
        .replace("{rules}", &columns.join(",\n    "))
        .replace("{any}", &any.join("\n    OR "));
    let mut rows = engine.stream(&sql).await?;
    while let Some(batch) = rows.next().await? {
        if progress.stop() {
            return Err(PatternError::Stopped);
        }
        let named = Columns(&batch);
        let (keys, slots) = (named.integers("trajectory_key")?, named.integers("slot")?);
        for (at, kept) in out.iter_mut().enumerate() {
            let Some(column) = batch.column_by_name(&format!("rule_{at}")) else {
                continue;
            };
            let found = column.as_boolean();
            for row in 0..batch.num_rows() {
                if !found.is_valid(row) || !found.value(row) {
                    continue;
                }
                let slot = i32::try_from(slots.value(row)).unwrap_or(i32::MAX);
                kept.found += 1;
                kept.right += u64::from(pattern.get(&place(keys.value(row), slot)) == Some(&at));
            }
        }
    }
    Ok(out)
}
