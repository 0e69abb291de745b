use proptest::prelude::*;

use super::catalog::{Offer, Offered, offer};
use super::declaration::Declaration;
use super::draw::Draw;
use super::kind::{ActsOn, Perturbation};
use crate::json::Doc;

const CATALOG: [&str; 3] = [
    r#"{"name":"get_user","description":"Retrieves a user.","parameters":{"type":"object","properties":{"user_id":{"type":"string","description":"The id of the user"}}}}"#,
    r#"{"name":"put_file","description":"Creates a file","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Name of the new file"},"text":{"type":"string"}}}}"#,
    r#"{"name":"think","description":""}"#,
];

fn draw(seed: u64) -> Draw<'static> {
    Draw {
        seed,
        trajectory: "t",
    }
}

fn gold() -> Vec<String> {
    vec!["get_user".to_owned()]
}

fn full(kind: Perturbation) -> Offered {
    offer(kind, &CATALOG, Some(&gold()), &draw(1), 1.0)
}

fn read(offer: &Offer) -> Declaration {
    Declaration::read(&offer.declaration).unwrap()
}

fn named<'o>(offered: &'o Offered, name: &str) -> Vec<&'o Offer> {
    offered
        .tools
        .iter()
        .filter(|tool| tool.name == name)
        .collect()
}

#[test]
fn decoys_of_the_same_name_by_hand() {
    let own = Declaration::read(CATALOG[0]).unwrap();
    let other = Declaration::read(CATALOG[1]).unwrap();
    for (kind, description, lent) in [
        (Perturbation::ActionA, "", false),
        (Perturbation::ActionB, &*own.description, false),
        (Perturbation::ActionC, "", true),
        (Perturbation::ActionD, &own.description, true),
        (Perturbation::ActionE, &other.description, true),
    ] {
        let offered = full(kind);
        assert_eq!(offered.tools.len(), 4, "{kind:?}");
        let both = named(&offered, "get_user");
        assert_eq!(
            (both[0].behind.as_deref(), both[1].declaration.as_str()),
            (None, CATALOG[0])
        );
        let decoy = read(both[0]);
        assert_eq!(decoy.description, description);
        assert_eq!(
            decoy.parameters(),
            if lent { other.parameters() } else { vec![] }
        );
    }
    // Nobody has parameters to lend: nothing is added.
    let alone = offer(Perturbation::ActionC, &CATALOG[..1], None, &draw(1), 1.0);
    assert!(!alone.changed());
}

#[test]
fn redundant_tools_are_others_and_take_parameters() {
    for seed in 0..40 {
        let offered = offer(
            Perturbation::ActionRedundant,
            &CATALOG,
            Some(&gold()),
            &draw(seed),
            1.0,
        );
        let more: Vec<_> = offered
            .tools
            .iter()
            .filter(|t| t.behind.is_none())
            .collect();
        assert!((1..=2).contains(&more.len()));
        let names: std::collections::HashSet<_> = offered.tools.iter().map(|t| &t.name).collect();
        assert_eq!(names.len(), offered.tools.len());
        for tool in more {
            assert!(tool.name.starts_with("user_"), "{}", tool.name);
            assert_eq!(read(tool).parameters().len(), 2);
        }
    }
}

#[test]
fn metadata_moves_the_choice_and_abbreviations_rename() {
    for (kind, copy, own, dearer) in [
        (Perturbation::RewardCd, "get_user_Budget", "$0.01", "$0.15"),
        (Perturbation::RewardTd, "get_user_Fast", "50 ms", "2100 ms"),
        (Perturbation::RewardCdNt, "get_user_1", "$0.01", "$0.15"),
        (Perturbation::RewardTdNt, "get_user_1", "50 ms", "2100 ms"),
        (Perturbation::RewardCdAb, "get_user_1", "$0.01", "$0.15"),
        (Perturbation::RewardTdAb, "get_user_1", "50 ms", "2100 ms"),
    ] {
        let offered = full(kind);
        let clone = named(&offered, copy)[0];
        assert_eq!(clone.behind, None);
        let (clone, renamed) = (read(clone), offered.renamed("get_user"));
        assert!(clone.description.contains(dearer) && clone.parameters().is_empty());
        let short = matches!(kind, Perturbation::RewardCdAb | Perturbation::RewardTdAb);
        assert_eq!(renamed, short.then_some("GT_USR"));
        let tool = read(named(&offered, renamed.unwrap_or("get_user"))[0]);
        assert!(
            tool.description.starts_with("Retrieves a user. ") && tool.description.contains(own)
        );
        assert_eq!(tool.parameters().len(), 1);
    }
}

#[test]
fn descriptions_are_reworded_and_nothing_else() {
    let offered = full(Perturbation::ObsToolDesc);
    assert_ne!(read(&offered.tools[0]).description, "Retrieves a user.");
    assert_eq!(
        read(&offered.tools[1]).parameters(),
        Declaration::read(CATALOG[1]).unwrap().parameters()
    );
    assert_eq!(offered.tools[2].declaration, CATALOG[2]);
    let offered = full(Perturbation::ObsParamDesc);
    assert_eq!(read(&offered.tools[0]).description, "Retrieves a user.");
    assert_ne!(offered.tools[0].declaration, CATALOG[0]);
    assert!(!offered.tools[2].changed);
}

#[test]
fn taken_names_are_passed_over() {
    let catalog = [
        r#"{"name":"go","description":"x"}"#,
        r#"{"name":"go_1"}"#,
        r#"{"name":"G"}"#,
    ];
    let offered = offer(
        Perturbation::RewardCdAb,
        &catalog,
        Some(&["go".to_owned()]),
        &draw(1),
        1.0,
    );
    let mut names: Vec<_> = offered
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["G", "G_2", "go_1", "go_1_2"]);
}

fn catalog_kind() -> impl Strategy<Value = Perturbation> {
    let kinds: Vec<_> = Perturbation::ALL
        .iter()
        .copied()
        .filter(|kind| kind.acts_on() == ActsOn::Catalog)
        .collect();
    prop::sample::select(kinds)
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_bytes_and_none_at_intensity_nought(
        kind in catalog_kind(), seed: u64, intensity in 0.0f64..=1.0, with_targets: bool,
    ) {
        let targets = with_targets.then(gold);
        let targets = targets.as_deref();
        let made = offer(kind, &CATALOG, targets, &draw(seed), intensity);
        prop_assert_eq!(&made, &offer(kind, &CATALOG, targets, &draw(seed), intensity));
        for tool in &made.tools {
            prop_assert!(Doc::parse(&tool.declaration).is_ok());
            prop_assert_eq!(&read(tool).name, &tool.name);
        }
        // Every tool of before is still behind exactly one.
        for name in ["get_user", "put_file", "think"] {
            let behind = made.tools.iter().filter(|t| t.behind.as_deref() == Some(name));
            prop_assert_eq!(behind.count(), 1);
        }
        let none = offer(kind, &CATALOG, targets, &draw(seed), 0.0);
        let texts: Vec<_> = none.tools.iter().map(|t| t.declaration.as_str()).collect();
        prop_assert!(texts == CATALOG && !none.changed());
    }
}
