//! Examples worked by hand, and the properties of the distance.

use proptest::prelude::*;

use super::{Answer, Comparer, CompiledRules, DiffKind, Form, ObsGap, observation};
use crate::json::{Doc, canonical, structured};

fn gap(left: &str, right: &str) -> ObsGap {
    observation(Answer::json(left), Answer::json(right))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn fields_and_mass_by_hand() {
    // Paths: $.a shared and equal, $.b left only, $.c right only.
    let g = gap(r#"{"a":1,"b":22}"#, r#"{"a":1,"c":4444}"#);
    assert_eq!((g.shared, g.union), (1, 3));
    assert!(close(g.gap, 2.0 / 3.0) && close(g.structure, 2.0 / 3.0) && g.value == 0.0);
    // Masses 1 + 2 + 4, of which 6 are lost.
    assert!(close(g.gap_mass, 6.0 / 7.0) && close(g.structure_mass, 6.0 / 7.0));
    assert_eq!((g.kinds.missing, g.kinds.extra), (1, 1));

    // One of two values differs.
    let g = gap(r#"{"a":1,"b":"x"}"#, r#"{"a":1,"b":"y"}"#);
    assert!(close(g.gap, 0.5) && close(g.value, 0.5) && g.structure == 0.0);
    assert!(close(g.gap_mass, 0.75));
    assert_eq!(g.kinds.value, 1);
}

#[test]
fn cosmetic_differences_cost_little() {
    // $.a equal, $.b null against absent.
    let g = gap(r#"{"a":1,"b":null}"#, r#"{"a":1}"#);
    assert!(close(g.gap, 0.05) && close(g.structure, 0.05));
    assert_eq!((g.kinds.cosmetic, g.kinds.missing, g.union), (1, 0, 2));
    let g = gap(r#"{"a":"Yes"}"#, r#"{"a":"yes"}"#);
    assert!(close(g.gap, 0.1) && close(g.value, 0.1));
    let plain = observation(
        Answer::plain("Error: Payment"),
        Answer::plain("Error: payment"),
    );
    assert!(close(plain.gap, 0.1));
}

#[test]
fn types_count_once() {
    let g = gap(r#"{"a":1,"b":2}"#, r#"{"a":"1","b":2}"#);
    assert_eq!((g.shared, g.union, g.kinds.type_), (2, 2, 1));
    assert!(close(g.value, 0.5));
    // A container against a scalar: the larger side, once, not shared.
    let g = gap(
        r#"{"a":{"x":1,"y":2,"z":3},"b":2}"#,
        r#"{"a":"none","b":2}"#,
    );
    assert_eq!((g.shared, g.union, g.kinds.type_), (1, 4, 1));
    assert!(close(g.structure, 0.75) && g.value == 0.0);
    // Object against array at the root.
    let g = gap(
        r#"{"SFO":"a","JFK":"b"}"#,
        r#"[{"i":1,"c":2},{"i":1,"c":2}]"#,
    );
    assert_eq!((g.shared, g.union), (0, 4));
    assert_eq!(g.gap, 1.0);
    assert_eq!(gap("true", "null").gap, 1.0);
    assert_eq!(gap("[]", "{}").shared, 1);
}

#[test]
fn empty_containers() {
    assert_eq!(gap("[]", "[]").gap, 0.0);
    assert_eq!(gap("[]", "[]").union, 1);
    let g = gap(r#"{"a":[],"b":1}"#, r#"{"a":[1,2],"b":1}"#);
    assert_eq!((g.shared, g.union, g.kinds.extra), (1, 3, 2));
    let g = observation(Answer::plain(""), Answer::plain(""));
    assert!(g.equal && g.gap == 0.0 && g.union == 1);
}

#[test]
fn arrays_go_by_position_and_name_reordering() {
    let g = gap("[1,2,3]", "[1,3,2]");
    assert!(close(g.gap, 2.0 / 3.0));
    assert_eq!((g.kinds.order, g.kinds.value), (2, 0));
    let g = gap("[1,2,3]", "[1,2]");
    assert!(close(g.gap, 1.0 / 3.0) && g.kinds.missing == 1);
    let g = gap("[1,2,3]", "[1,2,4]");
    assert_eq!((g.kinds.order, g.kinds.value), (0, 1));
}

#[test]
fn integers_are_exact_at_any_size() {
    assert_eq!(gap("9007199254740993", "9007199254740994").gap, 1.0);
    // What a float makes of it is a kind of its own.
    let g = gap("9007199254740993", "9007199254740992");
    assert_eq!((g.gap, g.kinds.cosmetic), (0.2, 1));
    assert_eq!(gap("1", "12").gap, 1.0);
    assert_eq!(gap("[1,2]", "[12,2]").gap, 0.5);
    assert_eq!(gap("1.5", "1.5").gap, 0.0);
}

#[test]
fn forms_differ_by_a_share_of_what_is_shared() {
    let python = structured("{'a': 1, 'b': 2}").unwrap();
    let json = structured(r#"{"a": 1, "b": 3}"#).unwrap();
    let same = structured(r#"{"a": 1, "b": 2}"#).unwrap();
    let g = observation(Answer::of("", Some(&python)), Answer::of("", Some(&same)));
    assert!(close(g.gap, 0.05) && !g.equal && g.kinds.cosmetic == 1);
    // g = .5, then .5 + .05 x .5.
    let g = observation(Answer::of("", Some(&python)), Answer::of("", Some(&json)));
    assert!(close(g.gap, 0.525) && close(g.structure + g.value, g.gap));
    let g = observation(Answer::plain("yes"), Answer::json("\"yes\""));
    assert!(close(g.gap, 0.05));
    let g = observation(Answer::plain("Error"), Answer::json(r#"{"a":1,"b":2}"#));
    assert!(g.gap == 1.0 && g.union == 2 && g.kinds.type_ == 1 && g.kinds.cosmetic == 0);
}

#[test]
fn cut_texts_are_compared_as_far_as_they_go() {
    let whole = "one two three four five six";
    let g = observation(
        Answer::plain("one two three fo").cut(),
        Answer::plain(whole),
    );
    assert!(g.truncated && g.gap == 0.0 && !g.equal);
    assert!(close(g.confidence, 16.0 / 27.0));
    let g = observation(
        Answer::plain("one zwei three fo").cut(),
        Answer::plain(whole),
    );
    // Bags {one zwei three} and {one two three}: 2 of 4.
    assert!(close(g.gap, 0.5));
    let g = observation(Answer::plain("ab").cut(), Answer::plain("ab").cut());
    assert!(close(g.confidence, 0.5) && g.equal);
}

#[test]
fn a_cut_value_is_compared_as_it_was_given() {
    let given = r#"{"zeta": "alpha beta", "id": 7, "a": [1, 2, 3]}"#;
    let (whole, _) = canonical(Doc::parse(given).unwrap().root());
    let known = Answer {
        raw: given,
        ..Answer::json(&whole)
    };
    for (cut, in_place, as_words) in [
        // A true prefix, whatever the keys' order is in the canonical form.
        (&given[..24], 0.0, 0.0),
        // One word of four is another: bags {zeta alfa beta id} and {zeta alpha beta id}.
        (r#"{"zeta": "alfa beta", "id": 7"#, 0.4, 0.25),
        // The same words in other places, which only what was given tells: {.. id 1 2} and {.. id 7 a}.
        (r#"{"zeta": "alpha beta", "id": [1, 2, 3"#, 0.5, 0.0),
    ] {
        let cut = Answer::plain(cut).cut();
        let g = observation(cut, known);
        assert!(close(g.gap, in_place) && g.truncated, "{cut:?} {g:?}");
        assert_eq!(observation(known, cut).gap, g.gap);
        let g = observation(cut, Answer::json(&whole));
        assert!(close(g.gap, as_words), "{cut:?} {g:?}");
        assert_eq!(observation(Answer::json(&whole), cut).gap, g.gap);
    }
}

#[test]
fn what_is_not_canonical_is_made_so() {
    let g = gap(r#"{"b": 1, "a": 2.0}"#, r#"{"a":2,"b":1}"#);
    assert_eq!((g.gap, g.shared, g.union), (0.0, 2, 2));
    let g = gap(r#"{"b":1,"c":2}"#, r#"{"c":2,"a":0,"b":1}"#);
    assert_eq!((g.shared, g.union), (2, 3));
    // No JSON at all.
    let g = gap("{broken", "{broken");
    assert!(g.equal && g.gap == 0.0);
    assert_eq!(gap("{broken", r#"{"a":1}"#).gap, 1.0);
}

#[test]
fn a_million_brackets_are_safe() {
    let deep = |leaf: &str| "[".repeat(1_000_000) + leaf + &"]".repeat(1_000_000);
    let (a, b) = (deep("1"), deep("2"));
    assert_eq!(gap(&a, &b).gap, 1.0);
    assert_eq!(gap(&a, &a).gap, 0.0);
    assert_eq!(gap(&a, &b[..b.len() / 2]).gap, 1.0);
    let objects = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
    assert!(gap(&objects, &a).gap == 1.0 && gap(&objects, &objects).gap == 0.0);
}

#[test]
fn a_diff_reads_like_this() {
    let left = r#"{"a":[{"b":1},{"b":2}],"k y":null,"n":{"x":1,"y":2}}"#;
    let right = r#"{"a":[{"b":1},{"b":3}],"t":"new"}"#;
    let diff = Comparer::default().diff(Answer::json(left), Answer::json(right), 10);
    let lines: Vec<_> = diff
        .paths
        .iter()
        .map(|d| {
            format!(
                "{} {} {} {:?} {:?}",
                d.path,
                d.kind.name(),
                d.weight,
                d.left,
                d.right
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#"$.a[1].b value 1 Some("2") Some("3")"#,
            r#"$["k y"] cosmetic 0.1 Some("null") None"#,
            r#"$.n missing 2 Some("{\"x\":1,\"y\":2}") None"#,
            r#"$.t extra 1 None Some("\"new\"")"#,
        ]
    );
    // Union: a0b, a1b, k y, n.x, n.y, t.
    assert_eq!(diff.gap.union, 6);
    assert!(close(diff.gap.gap, 4.1 / 6.0));
    let short = Comparer::default().diff(Answer::json(left), Answer::json(right), 1);
    assert_eq!((short.paths.len(), short.omitted), (1, 3));
    assert!(close(short.omitted_weight, 3.1));
    let order = Comparer::default().diff(Answer::json("[[1,2],5]"), Answer::json("[[2,1],5]"), 9);
    assert_eq!(
        (order.paths[0].path.as_str(), order.paths[0].kind),
        ("$[0]", DiffKind::Order)
    );
}

pub(super) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        (-3i32..3).prop_map(|n| n.to_string()),
        (-20i32..20).prop_map(|n| format!("{}.5", n)),
        r#"[a-cA-C \\"éß/.]{0,5}"#.prop_map(|t| {
            let mut out = String::new();
            crate::json::push_json_string(&t, &mut out);
            out
        }),
        r"([a-d]{1,2} ){30,40}".prop_map(|t| format!("\"{t}\"")),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec((r#"[a-d\\]{1,2}"#, inner), 0..5).prop_map(|v| {
                let entries: Vec<_> = v
                    .iter()
                    .map(|(k, v)| {
                        let mut out = String::new();
                        crate::json::push_json_string(k, &mut out);
                        format!("{out}:{v}")
                    })
                    .collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![4 => Just(Form::Json), 1 => Just(Form::Text), 1 => Just(Form::PythonRepr)]
}

/// The laws of the distance, whatever the rules.
pub(super) fn check(
    rules: Option<&CompiledRules>,
    a: Answer<'_>,
    b: Answer<'_>,
) -> Result<(), TestCaseError> {
    let mut comparer = Comparer::default();
    let g = comparer.observe_with(rules, a, b);
    let h = comparer.observe_with(rules, b, a);
    for part in [
        g.gap,
        g.gap_mass,
        g.structure,
        g.value,
        g.structure_mass,
        g.value_mass,
        g.confidence,
    ] {
        prop_assert!((0.0..=1.0).contains(&part), "{g:?}");
    }
    prop_assert!((g.structure + g.value - g.gap).abs() < 1e-12);
    prop_assert!((g.structure_mass + g.value_mass - g.gap_mass).abs() < 1e-12);
    prop_assert!((g.gap - h.gap).abs() < 1e-12 && (g.gap_mass - h.gap_mass).abs() < 1e-12);
    prop_assert_eq!((g.shared, g.union, g.equal), (h.shared, h.union, h.equal));
    prop_assert_eq!(
        (g.kinds.missing, g.kinds.extra),
        (h.kinds.extra, h.kinds.missing)
    );
    prop_assert!(g.shared <= g.union);
    prop_assert!(!g.equal || g.gap == 0.0);
    for limit in [0, 2, 1000] {
        let diff = comparer.diff_with(rules, a, b, limit);
        prop_assert_eq!(diff.gap, g);
        let sum: f64 = diff.paths.iter().map(|d| d.weight).sum::<f64>() + diff.omitted_weight;
        prop_assert!(
            (sum - g.gap * f64::from(g.union)).abs() < 1e-9,
            "{sum} {g:?}"
        );
    }
    Ok(())
}

/// The definition, read literally, over lists of leaves: shared and union.
fn paths(doc: &Doc<'_>) -> Vec<String> {
    fn walk(node: crate::json::Node<'_>, path: &str, out: &mut Vec<String>) {
        use crate::json::Kind;
        match node.kind() {
            Kind::Object if !node.is_empty() => {
                let mut seen = std::collections::HashMap::new();
                for (key, value) in node.entries() {
                    let nth = seen.entry(key).and_modify(|n| *n += 1).or_insert(0);
                    walk(value, &format!("{path}.{key:?}#{nth}"), out);
                }
            }
            Kind::Array if !node.is_empty() => {
                for (i, value) in node.elements().enumerate() {
                    walk(value, &format!("{path}[{i}]"), out);
                }
            }
            kind => out.push(format!("{path} {kind:?}")),
        }
    }
    let mut out = vec![];
    walk(doc.root(), "$", &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn laws_hold(a in json(), b in json(), fa in form(), fb in form()) {
        let read = |text: &str| canonical(Doc::parse(text).unwrap().root()).0;
        let (a, b) = (read(&a), read(&b));
        let left = Answer { text: &a, raw: "", form: fa, truncated: false };
        let right = Answer { text: &b, raw: "", form: fb, truncated: false };
        check(None, left, right)?;
        check(None, left.cut(), right)?;
        check(None, left, left)?;
        prop_assert_eq!(observation(left, left).gap, 0.0);
    }

    #[test]
    fn spelling_does_not_count(a in json(), b in json()) {
        let read = |text: &str| canonical(Doc::parse(text).unwrap().root()).0;
        let raw = gap(&a, &b);
        let form = gap(&read(&a), &read(&b));
        prop_assert_eq!(raw.gap, form.gap);
        prop_assert_eq!((raw.shared, raw.union), (form.shared, form.union));
    }

    #[test]
    fn shared_paths_are_those_of_the_definition(a in json(), b in json()) {
        let read = |text: &str| canonical(Doc::parse(text).unwrap().root()).0;
        let (a, b) = (read(&a), read(&b));
        let (da, db) = (Doc::parse(&a).unwrap(), Doc::parse(&b).unwrap());
        let g = gap(&a, &b);
        let left: std::collections::HashSet<_> = paths(&da).into_iter().collect();
        let right: std::collections::HashSet<_> = paths(&db).into_iter().collect();
        // Scalars of another type at one path are shared by definition but differ here.
        let typed = left.intersection(&right).count() as u32;
        prop_assert!(g.shared >= typed && g.shared - typed <= g.kinds.type_ + g.kinds.order);
        if g.kinds.type_ == 0 && g.kinds.order == 0 {
            prop_assert_eq!(g.shared, typed);
        }
    }

    #[test]
    fn any_text_is_safe(a in r#"[\[\]{}:,"\\a0n é]{0,30}"#, b in r#"[\[\]{}:,"\\a0n é]{0,30}"#) {
        let g = gap(&a, &b);
        prop_assert!((0.0..=1.0).contains(&g.gap) && (0.0..=1.0).contains(&g.gap_mass));
        let g = observation(Answer::plain(&a), Answer::json(&b).cut());
        prop_assert!((0.0..=1.0).contains(&g.gap));
    }
}
