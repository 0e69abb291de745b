//! Differences between the tools that two arms offer: surface distances, kept
//! beside the decision gap as diagnostics (docs/measures.md, "Decision gap").
//!
//! Alignment: same name (of several of one name first those that are equal, then
//! those that accept the same, then those described alike, then in order); else a tool
//! with the same, non-empty set of parameter names at every depth, unique among the
//! unmatched tools of both arms, is a rename; else added or removed.
//!
//! Each gap is a mean over the union of tools (a matched pair is one), in `[0,1]`:
//! * `act`: 1 for added and removed, else the observation distance of the
//!   schemas without their texts (`required` and `enum` as sets);
//! * `rew`: 1 for a rename, else the token distance of the sentences of the
//!   description that speak of the tool's cost, latency or standing ([`super::REWARD_WORDS`]);
//! * `obs`: the token distance of the other sentences and of the texts in the schema.
//!
//! A tool without partner brings its own text under `act`: it adds nothing to
//! `rew` and `obs`. The order of tools does not count.

use std::collections::HashMap;

use super::answer::Answer;
use super::comparer::Comparer;
use super::schema::{SchemaParts, split};
use super::tokens::text_similarity;
use super::words::split_reward;

/// One tool of a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// JSON schema of its parameters; empty or no object for none.
    pub parameters: &'a str,
}

/// How a tool of one arm relates to the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolMatch {
    /// Same name.
    Same,
    /// Another name, the same parameters.
    Renamed,
    /// Only the right catalog has it.
    Added,
    /// Only the left catalog has it.
    Removed,
}

/// One row of the alignment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolGap {
    /// Position in the left catalog.
    pub left: Option<usize>,
    /// Position in the right catalog.
    pub right: Option<usize>,
    /// How they relate.
    pub relation: ToolMatch,
    /// Distances in `[0,1]`.
    pub act: f64,
    /// See the module.
    pub rew: f64,
    /// See the module.
    pub obs: f64,
}

/// The distance of two catalogs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogGap {
    /// Means over the union of tools; 0 for two empty catalogs.
    pub act: f64,
    /// See the module.
    pub rew: f64,
    /// See the module.
    pub obs: f64,
    /// Tools only in the right catalog.
    pub added: u32,
    /// Tools only in the left catalog.
    pub removed: u32,
    /// Renamed tools.
    pub renamed: u32,
    /// Partners whose schemas accept something else.
    pub schema_changed: u32,
    /// Partners whose cost, latency or endorsement text differs.
    pub reward_text_changed: u32,
    /// Partners whose other text differs.
    pub text_changed: u32,
    /// One row per tool of the union: the left catalog's in order, then the added ones.
    pub tools: Vec<ToolGap>,
}

/// Compares two catalogs.
#[must_use]
pub fn catalog_gap(left: &[Tool<'_>], right: &[Tool<'_>], comparer: &mut Comparer) -> CatalogGap {
    let parts = |tools: &[Tool<'_>]| -> Vec<SchemaParts> {
        tools.iter().map(|tool| split(tool.parameters)).collect()
    };
    let (a, b) = (parts(left), parts(right));
    let mut gap = CatalogGap::default();
    let mut taken = vec![false; right.len()];
    for (i, (other, renamed)) in partners(left, &a, right, &b).into_iter().enumerate() {
        let Some(j) = other else {
            gap.removed += 1;
            gap.tools.push(alone(Some(i), None, ToolMatch::Removed));
            continue;
        };
        taken[j] = true;
        let relation = if renamed {
            ToolMatch::Renamed
        } else {
            ToolMatch::Same
        };
        let schemas = (Answer::json(&a[i].accepts), Answer::json(&b[j].accepts));
        let (rew_left, obs_left) = texts(&left[i], &a[i]);
        let (rew_right, obs_right) = texts(&right[j], &b[j]);
        let rew = 1.0 - text_similarity(&rew_left, &rew_right);
        let row = ToolGap {
            left: Some(i),
            right: Some(j),
            relation,
            act: comparer.observe(schemas.0, schemas.1).gap,
            rew: if renamed { 1.0 } else { rew },
            obs: 1.0 - text_similarity(&obs_left, &obs_right),
        };
        gap.renamed += u32::from(renamed);
        gap.schema_changed += u32::from(row.act > 0.0);
        gap.reward_text_changed += u32::from(rew > 0.0);
        gap.text_changed += u32::from(row.obs > 0.0);
        gap.tools.push(row);
    }
    for j in (0..right.len()).filter(|&j| !taken[j]) {
        gap.added += 1;
        gap.tools.push(alone(None, Some(j), ToolMatch::Added));
    }
    let union = gap.tools.len().max(1) as f64;
    let mean = |of: fn(&ToolGap) -> f64| gap.tools.iter().map(of).sum::<f64>() / union;
    let (act, rew, obs) = (mean(|t| t.act), mean(|t| t.rew), mean(|t| t.obs));
    CatalogGap {
        act,
        rew,
        obs,
        ..gap
    }
}

fn alone(left: Option<usize>, right: Option<usize>, relation: ToolMatch) -> ToolGap {
    ToolGap {
        left,
        right,
        relation,
        act: 1.0,
        rew: 0.0,
        obs: 0.0,
    }
}

/// For each tool of the left catalog its partner, and whether that has another name.
pub(super) fn partners(
    left: &[Tool<'_>],
    a: &[SchemaParts],
    right: &[Tool<'_>],
    b: &[SchemaParts],
) -> Vec<(Option<usize>, bool)> {
    let mut partner = same_names(left, a, right, b);
    let renamed = renames(a, b, &mut partner);
    partner.into_iter().zip(renamed).collect()
}

fn same_names(
    left: &[Tool<'_>],
    a: &[SchemaParts],
    right: &[Tool<'_>],
    b: &[SchemaParts],
) -> Vec<Option<usize>> {
    // What must be equal beside the name, the strictest first.
    const BY: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

    let twice = |tools: &[Tool<'_>]| {
        let names: std::collections::HashSet<_> = tools.iter().map(|tool| tool.name).collect();
        names.len() < tools.len()
    };
    let from = if twice(left) || twice(right) { 0 } else { 3 };
    let mut partner = vec![None; left.len()];
    let mut taken = vec![false; right.len()];
    for (accepts, described) in &BY[from..] {
        let key = |tool: &Tool<'_>, parts: &SchemaParts| {
            let accepts = accepts.then(|| parts.accepts.clone());
            let described = described.then(|| tool.description.to_owned());
            (tool.name.to_owned(), accepts, described)
        };
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for j in (0..right.len()).rev().filter(|&j| !taken[j]) {
            places.entry(key(&right[j], &b[j])).or_default().push(j);
        }
        for i in 0..left.len() {
            if partner[i].is_none() {
                partner[i] = places.get_mut(&key(&left[i], &a[i])).and_then(Vec::pop);
                partner[i].into_iter().for_each(|j| taken[j] = true);
            }
        }
    }
    partner
}

/// Completes the partners by unique parameter sets; says which were renamed.
fn renames(a: &[SchemaParts], b: &[SchemaParts], partner: &mut [Option<usize>]) -> Vec<bool> {
    let mut taken = vec![false; b.len()];
    partner.iter().flatten().for_each(|&j| taken[j] = true);
    // For each set of names: the unmatched tools of either side that have it.
    let mut sets: HashMap<&std::collections::BTreeSet<String>, [Vec<usize>; 2]> = HashMap::new();
    for (i, parts) in a.iter().enumerate().filter(|&(i, _)| partner[i].is_none()) {
        sets.entry(&parts.names).or_default()[0].push(i);
    }
    for (j, parts) in b.iter().enumerate().filter(|&(j, _)| !taken[j]) {
        sets.entry(&parts.names).or_default()[1].push(j);
    }
    let mut renamed = vec![false; a.len()];
    for (names, sides) in &sets {
        if let ([i], [j]) = (sides[0].as_slice(), sides[1].as_slice())
            && !names.is_empty()
        {
            partner[*i] = Some(*j);
            renamed[*i] = true;
        }
    }
    renamed
}

/// The texts of a tool: what is to move the choice, and the rest.
fn texts(tool: &Tool<'_>, parts: &SchemaParts) -> (String, String) {
    let (reward, mut rest) = split_reward(tool.description);
    rest.push_str(&parts.text);
    (reward, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tool<'a>(name: &'a str, description: &'a str, parameters: &'a str) -> Tool<'a> {
        Tool {
            name,
            description,
            parameters,
        }
    }

    fn gap(left: &[Tool<'_>], right: &[Tool<'_>]) -> CatalogGap {
        catalog_gap(left, right, &mut Comparer::default())
    }

    const ID: &str = r#"{"type":"object","properties":{"id":{"type":"string"}}}"#;
    const DAY: &str = r#"{"type":"object","properties":{"day":{"type":"string"}}}"#;

    #[test]
    fn added_removed_renamed_by_hand() {
        let left = [tool("a", "", ID), tool("b", "", DAY), tool("think", "", "")];
        let right = [
            tool("a", "", ID),
            tool("b_v2", "", DAY),
            tool("now", "", "{}"),
        ];
        let found = gap(&left, &right);
        assert_eq!((found.added, found.removed, found.renamed), (1, 1, 1));
        // Union a, b = b_v2, think, now.
        assert!((found.act - 2.0 / 4.0).abs() < 1e-12 && (found.rew - 0.25).abs() < 1e-12);
        assert_eq!(found.obs, 0.0);
        // Two of one parameter set are no rename.
        let twins = [tool("x", "", ID), tool("y", "", ID)];
        assert_eq!(gap(&left[..1], &twins).renamed, 0);
    }

    #[test]
    fn of_one_name_the_most_alike_are_partners() {
        let own = tool("a", "Finds it.", ID);
        let right = [tool("a", "", ""), tool("a", "Finds it.", DAY), own];
        let found = gap(&[own], &right);
        assert_eq!((found.tools[0].right, found.added), (Some(2), 2));
        assert_eq!((found.tools[0].act, found.obs), (0.0, 0.0));
        // What it accepts counts before how it is described.
        let right = [tool("a", "Finds it.", DAY), tool("a", "Other.", ID)];
        assert_eq!(gap(&[own], &right).tools[0].right, Some(1));
    }

    #[test]
    fn texts_by_hand() {
        let left = [tool("a", "Find a user. Cost per call is 1 USD", ID)];
        let right = [tool("a", "Find a user. Cost per call is 2 USD", ID)];
        let found = gap(&left, &right);
        // {Cost per call is USD} of {.. 1 2}: 5 of 7.
        assert!((found.rew - 2.0 / 7.0).abs() < 1e-12);
        assert_eq!(
            (found.obs, found.act, found.reward_text_changed),
            (0.0, 0.0, 1)
        );
        let right = [tool("a", "Find one user. Cost per call is 1 USD", ID)];
        // {Find user} of {a one}: 2 of 4.
        assert!((gap(&left, &right).obs - 0.5).abs() < 1e-12);
        // A parameter's text is obs, its type is act.
        let told = r#"{"type":"object","properties":{"id":{"type":"string","description":"who"}}}"#;
        let found = gap(&[tool("a", "", ID)], &[tool("a", "", told)]);
        assert_eq!((found.act, found.obs), (0.0, 1.0));
        let typed = r#"{"type":"object","properties":{"id":{"type":"integer"}}}"#;
        // Paths: $.type, $.properties.id.type; one differs.
        assert!((gap(&[tool("a", "", ID)], &[tool("a", "", typed)]).act - 0.5).abs() < 1e-12);
    }

    fn catalog() -> impl Strategy<Value = Vec<Tool<'static>>> {
        let name = prop::sample::select(vec!["a", "b", "c", "d"]);
        let text = prop::sample::select(vec!["", "x y. fast z", "x. slow z", "y"]);
        let schema = prop::sample::select(vec!["", ID, DAY, "broken"]);
        prop::collection::vec(
            (name, text, schema).prop_map(|(n, d, p)| tool(n, d, p)),
            0..6,
        )
    }

    proptest! {
        #[test]
        fn symmetric_and_complete(left in catalog(), right in catalog()) {
            let (there, back) = (gap(&left, &right), gap(&right, &left));
            for (a, b) in [(there.act, back.act), (there.rew, back.rew), (there.obs, back.obs)] {
                prop_assert!((a - b).abs() < 1e-12 && (0.0..=1.0).contains(&a));
            }
            prop_assert_eq!((there.added, there.removed), (back.removed, back.added));
            let both = there.tools.iter().filter(|t| t.left.is_some() && t.right.is_some()).count();
            prop_assert_eq!(there.tools.len() + both, left.len() + right.len());
            let own = gap(&left, &left);
            prop_assert_eq!((own.act, own.rew, own.obs), (0.0, 0.0, 0.0));
        }
    }
}
