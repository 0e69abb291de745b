//! Rules per path: by hand, and what must hold whatever the rules.

use proptest::prelude::*;

use super::observation_tests::{check, json};
use super::{
    Answer, Comparer, CompiledRules, ObsGap, PathRule, PathRules, RuleAction, RuleCache,
    RuleErrorKind,
};
use crate::json::{Doc, Kind, Node, canonical, push_json_string};

fn rules(given: &[(&str, &str)]) -> CompiledRules {
    let read =
        |(path, action): &(&str, &str)| PathRule::new(*path, RuleAction::parse(action).unwrap());
    PathRules::new(given.iter().map(read).collect())
        .unwrap()
        .select("", "")
}

fn gap(given: &[(&str, &str)], left: &str, right: &str) -> ObsGap {
    let (a, b) = (Answer::json(left), Answer::json(right));
    Comparer::default().observe_with(Some(&rules(given)), a, b)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn what_is_ignored_leaves_the_union() {
    let (a, b) = (
        r#"{"a":{"t":1,"x":1},"l":[{"t":1,"y":1}],"t":3}"#,
        r#"{"a":{"t":2,"x":1},"l":[{"t":9,"y":2}]}"#,
    );
    let g = gap(&[("$..t", "ignore")], a, b);
    assert_eq!((g.shared, g.union), (2, 2));
    assert!(close(g.gap, 0.5));
    let g = gap(
        &[("$.a", "ignore"), ("$.t", "ignore"), ("$.l[0]", "ignore")],
        a,
        b,
    );
    // The array of ignored elements is an empty one.
    assert_eq!((g.gap, g.shared, g.union), (0.0, 1, 1));
    let g = gap(&[("$", "ignore")], a, b);
    assert_eq!((g.gap, g.shared), (0.0, 0));
    // The more specific rule wins, the later of equals.
    let g = gap(
        &[("$..t", "ignore"), ("$.a.t", "class=exact")],
        r#"{"a":{"t":1}}"#,
        r#"{"a":{"t":2}}"#,
    );
    assert_eq!(g.gap, 1.0);
    let g = gap(
        &[("$.a", "class=exact"), ("$.a", "ignore")],
        r#"{"a":1}"#,
        r#"{"a":2}"#,
    );
    assert_eq!(g.gap, 0.0);
    let g = gap(
        &[("$.a", "ignore"), ("$.a", "class=exact")],
        r#"{"a":1}"#,
        r#"{"a":2}"#,
    );
    assert_eq!(g.gap, 1.0);
}

#[test]
fn arrays_pair_by_their_rule() {
    let (a, b) = (r#"{"l":[1,2,2,3]}"#, r#"{"l":[3,2,1,4]}"#);
    // 1, 2, 3 pair; a 2 is missing, a 4 extra.
    let g = gap(&[("$.l", "multiset")], a, b);
    assert_eq!(
        (g.shared, g.union, g.kinds.missing, g.kinds.extra),
        (3, 5, 1, 1)
    );
    assert!(close(g.gap, 0.4) && close(g.structure, 0.4));
    let g = gap(&[("$.l", "set")], a, b);
    assert_eq!((g.shared, g.union), (3, 4));
    let g = gap(&[("$.l", "ordered")], "{\"l\":[1,2]}", "{\"l\":[2,1]}");
    assert_eq!(g.gap, 1.0);
    // What is ignored or equal in form inside the elements does not part them.
    let g = gap(
        &[
            ("$", "multiset"),
            ("$[*].t", "ignore"),
            ("$[*].id", "class=form"),
        ],
        r#"[{"id":"A1","t":1,"x":1},{"id":"B2","t":2,"x":2}]"#,
        r#"[{"id":"C3","x":2},{"id":"D4","t":3,"x":1}]"#,
    );
    assert_eq!((g.gap, g.union), (0.0, 4));
    // Sets of sets.
    let g = gap(
        &[("$", "set"), ("$[*]", "set")],
        "[[1,2,2],[3]]",
        "[[3],[2,1],[1,2]]",
    );
    assert_eq!((g.gap, g.union), (0.0, 3));
}

#[test]
fn a_key_pairs_elements() {
    let (a, b) = (
        r#"[{"id":1,"v":"a"},{"id":2,"v":"b"},{"v":"none"},7]"#,
        r#"[7,{"v":"none"},{"id":2,"v":"c"},{"id":1.0,"v":"a"},{"id":3,"v":"d"}]"#,
    );
    let keyed = rules(&[("$", "key_by=id")]);
    let diff = Comparer::default().diff_with(Some(&keyed), Answer::json(a), Answer::json(b), 9);
    let lines: Vec<_> = diff
        .paths
        .iter()
        .map(|d| format!("{} {}", d.path, d.label()))
        .collect();
    assert_eq!(
        lines,
        [
            "$[0].id cosmetic:number_spelling",
            "$[1].v value",
            "$[4] extra"
        ]
    );
    assert_eq!((diff.gap.shared, diff.gap.union), (6, 8));
    // Duplicates pair in their order.
    let g = gap(
        &[("$", "key_by=id")],
        r#"[{"id":1,"v":1},{"id":1,"v":2}]"#,
        r#"[{"id":1,"v":1},{"id":1,"v":3}]"#,
    );
    assert_eq!((g.shared, g.kinds.value), (4, 1));
}

#[test]
fn leaves_compare_by_their_rule() {
    let one = |action: &str, a: &str, b: &str| gap(&[("$.a.*", action)], a, b).gap;
    let (a, b) = (r#"{"a":{"x":1.00}}"#, r#"{"a":{"x":1.04}}"#);
    assert_eq!(one("precision=0.05", a, b), 0.0);
    assert_eq!(one("precision=0.01", a, b), 1.0);
    assert!(close(one("class=tolerant", a, b), 1.0 - 1.0 / 1.04));
    assert_eq!(one("cosmetic=0.2", a, b), 0.2);
    assert_eq!(one("cosmetic=0.2", a, r#"{"a":{}}"#), 0.2);
    assert_eq!(one("cosmetic=0.2", a, r#"{"a":{"x":{"y":1}}}"#), 0.2);
    assert_eq!(
        one("class=form", r#"{"a":{"x":"A1"}}"#, r#"{"a":{"x":"B2"}}"#),
        0.0
    );
    // Down to everything below, until a deeper rule says otherwise.
    let g = gap(
        &[("$.a", "cosmetic=0.2"), ("$.a.b", "cosmetic=0.4")],
        r#"{"a":{"b":1,"c":[1]}}"#,
        r#"{"a":{"b":2,"c":[2]}}"#,
    );
    assert!(close(g.gap, 0.3) && g.kinds.cosmetic == 2);
    // Bare texts stand at the root.
    let rules = rules(&[("$", "class=form")]);
    let (a, b) = (
        Answer::plain("order A1 done"),
        Answer::plain("order B2 done"),
    );
    assert_eq!(
        Comparer::default().observe_with(Some(&rules), a, b).gap,
        0.0
    );
}

#[test]
fn rules_are_chosen_by_environment_and_api() {
    let rule = |path: &str, action: &str, environment: &str, api: &str| {
        PathRule::new(path, RuleAction::parse(action).unwrap()).within(environment, api)
    };
    let all = PathRules::new(vec![
        rule("$.a", "class=exact", "shop", "get_item"),
        rule("$.a", "ignore", "shop", "get_*"),
        rule("$.b", "ignore", "*", "*"),
    ])
    .unwrap();
    let mut cache = RuleCache::new(&all);
    assert_eq!(
        cache.get("shop", "get_item").map(CompiledRules::len),
        Some(3)
    );
    assert_eq!(cache.get("bank", "x").map(CompiledRules::len), Some(1));
    assert_eq!(cache.get("bank", "y").map(CompiledRules::len), Some(1));
    let print = |environment, api| all.select(environment, api).fingerprint();
    assert_eq!(print("bank", "x"), print("farm", "y"));
    assert_ne!(print("shop", "get_all"), print("bank", "x"));
    // The closer scope wins though it comes first.
    let (a, b) = (Answer::json(r#"{"a":1}"#), Answer::json(r#"{"a":2}"#));
    let of = |api| {
        Comparer::default()
            .observe_with(Some(&all.select("shop", api)), a, b)
            .gap
    };
    assert_eq!((of("get_item"), of("get_user"), of("put")), (1.0, 0.0, 1.0));
    let none = PathRules::default();
    assert!(RuleCache::new(&none).get("a", "b").is_none());
    assert!(none.select("a", "b").is_empty());
}

#[test]
fn a_bad_rule_is_named() {
    let bad = PathRules::new(vec![
        PathRule::new("$.a", RuleAction::Ignore),
        PathRule::new("$.a[x]", RuleAction::Ignore),
    ]);
    let error = bad.unwrap_err();
    assert_eq!(
        (error.rule, error.offset, &error.kind),
        (1, 4, &RuleErrorKind::BadBracket)
    );
    assert_eq!(
        error.to_string(),
        "rule 1 ($.a[x]), byte 4: expected `*`, a position or a key in quotes"
    );
    assert!(PathRules::new(vec![PathRule::new("$", RuleAction::Cosmetic(f64::NAN))]).is_err());
}

/// The value without the entries under a key, at any depth.
fn without(node: Node<'_>, key: &str, out: &mut String) {
    let mut first = true;
    let mut comma = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
    };
    match node.kind() {
        Kind::Object => {
            out.push('{');
            for (name, value) in node.entries().filter(|(name, _)| *name != key) {
                comma(out);
                push_json_string(name, out);
                out.push(':');
                without(value, key, out);
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for value in node.elements() {
                comma(out);
                without(value, key, out);
            }
            out.push(']');
        }
        _ => out.push_str(node.raw()),
    }
}

fn read(text: &str) -> String {
    canonical(Doc::parse(text).unwrap().root()).0
}

fn some_rules() -> impl Strategy<Value = CompiledRules> {
    let step = prop_oneof![
        3 => "[a-d]{1,2}".prop_map(|key| format!(".{key}")),
        1 => Just(".*".to_owned()),
        2 => Just("[*]".to_owned()),
        1 => (0..3).prop_map(|i| format!("[{i}]")),
        2 => "[a-d]".prop_map(|key| format!("..{key}")),
        1 => Just("..[*]".to_owned()),
    ];
    let path = prop::collection::vec(step, 0..4).prop_map(|steps| format!("${}", steps.concat()));
    let action = prop_oneof![
        Just("ignore"),
        Just("ordered"),
        Just("set"),
        Just("multiset"),
        Just("key_by=a"),
        Just("precision=2"),
        Just("class=exact"),
        Just("class=tolerant"),
        Just("class=form"),
        Just("class=text"),
        Just("cosmetic=0.3"),
    ];
    prop::collection::vec((path, action), 0..6).prop_map(|given| {
        let given: Vec<_> = given
            .iter()
            .map(|(path, action)| (path.as_str(), *action))
            .collect();
        rules(&given)
    })
}

/// An array of values, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    prop::collection::vec(json(), 0..8)
        .prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle()))
}

fn array(elements: &[String]) -> String {
    read(&format!("[{}]", elements.join(",")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn laws_hold_whatever_the_rules(rules in some_rules(), a in json(), b in json()) {
        let (a, b) = (read(&a), read(&b));
        check(Some(&rules), Answer::json(&a), Answer::json(&b))?;
        check(Some(&rules), Answer::json(&a), Answer::plain(&b))?;
        let same = Comparer::default().observe_with(Some(&rules), Answer::json(&a), Answer::json(&a));
        prop_assert_eq!(same.gap, 0.0);
    }

    #[test]
    fn any_bytes_are_safe(rules in some_rules(), a in prop::collection::vec(any::<u8>(), 0..60), b in r#"[\[\]{}:,"\\a0n é-]{0,40}"#) {
        let a = String::from_utf8_lossy(&a);
        for (x, y) in [(Answer::json(&a), Answer::json(&b)), (Answer::plain(&a).cut(), Answer::json(&b)), (Answer::json(&b), Answer::json(&b).cut())] {
            let g = Comparer::default().observe_with(Some(&rules), x, y);
            prop_assert!((0.0..=1.0).contains(&g.gap) && (0.0..=1.0).contains(&g.gap_mass));
        }
    }

    #[test]
    fn ignoring_is_deleting(a in json(), b in json(), key in "[a-d]") {
        let (a, b) = (read(&a), read(&b));
        let rest = |text: &str| {
            let mut out = String::new();
            without(Doc::parse(text).unwrap().root(), &key, &mut out);
            out
        };
        let path = format!("$..{key}");
        let g = gap(&[(&path, "ignore")], &a, &b);
        let (x, y) = (rest(&a), rest(&b));
        let h = gap(&[], &x, &y);
        // Arrays count as reordered by their whole elements, ignored parts included.
        prop_assert_eq!((g.shared, g.union), (h.shared, h.union));
        prop_assert!((g.gap - h.gap).abs() < 1e-12, "{} {}", g.gap, h.gap);
        prop_assert!((g.gap_mass - h.gap_mass).abs() < 1e-12);
    }

    #[test]
    fn order_does_not_count_in_sets((a, b) in shuffled(), c in json()) {
        let (a, b, c) = (array(&a), array(&b), format!("[{}]", read(&c)));
        for action in ["set", "multiset"] {
            prop_assert_eq!(gap(&[("$", action)], &a, &b).gap, 0.0);
            let (g, h) = (gap(&[("$", action)], &a, &c), gap(&[("$", action)], &b, &c));
            prop_assert_eq!((g.shared, g.union, g.kinds), (h.shared, h.union, h.kinds));
            prop_assert!((g.gap - h.gap).abs() < 1e-12);
        }
    }

    #[test]
    fn rules_that_match_nothing_change_nothing(a in json(), b in json()) {
        let (a, b) = (read(&a), read(&b));
        let g = gap(&[("$.zz[*].q", "ignore"), ("$..qq", "class=form")], &a, &b);
        let h = gap(&[], &a, &b);
        prop_assert_eq!((g.shared, g.union, g.kinds), (h.shared, h.union, h.kinds));
        prop_assert!((g.gap - h.gap).abs() < 1e-12 && (g.gap_mass - h.gap_mass).abs() < 1e-12);
    }
}
