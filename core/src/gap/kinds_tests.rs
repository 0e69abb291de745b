//! Each kind of difference by hand, and their ranking.

use super::{Answer, Comparer, CosmeticKind, Diff, Severity};
use crate::json::structured;

/// The diff of two raw texts, each read as its recorder would.
fn diff(left: &str, right: &str) -> Diff {
    let (a, b) = (structured(left), structured(right));
    let (a, b) = (Answer::of(left, a.as_ref()), Answer::of(right, b.as_ref()));
    Comparer::default().diff(a, b, 100)
}

/// The kinds found, and the gap.
fn kinds(left: &str, right: &str) -> (Vec<String>, f64) {
    let found = diff(left, right);
    let labels = found.paths.iter().map(|d| d.label()).collect();
    (labels, found.gap.gap)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn cosmetic_kinds_by_hand() {
    for (left, right, kind, wanted) in [
        (r#"{"a":null}"#, "{}", "null_absent", 0.1),
        (r#"{"a":"Yes"}"#, r#"{"a":"yes"}"#, "letter_case", 0.1),
        (r#"{"a":"x  y"}"#, r#"{"a":"x y"}"#, "white_space", 0.05),
        (
            r#"{"a":"http://h/v1/c"}"#,
            r#"{"a":"http://h/v2/c"}"#,
            "url_version",
            0.01,
        ),
        (r#"{"a": 1}"#, "{'a': 1}", "form", 0.05),
        (r#"{"a":NaN}"#, r#"{"a":null}"#, "nan_null", 0.1),
        (r#"{"a":-Infinity}"#, r#"{"a":null}"#, "nan_null", 0.1),
        (
            "[12345678901234567890]",
            "[12345678901234567000]",
            "big_integer",
            0.2,
        ),
        (
            r#"{"a":"{\"x\": 1}"}"#,
            r#"{"a":"{\"x\":1.0}"}"#,
            "nested_json",
            0.05,
        ),
        (r#"{"a":"{\"x\": 1}"}"#, r#"{"a":"{'x': 1}"}"#, "form", 0.05),
        (
            r#"{"a":"{\"x\": 1}"}"#,
            r#"{"a":{"x":1}}"#,
            "nested_json",
            0.05,
        ),
    ] {
        let (found, gap) = kinds(left, right);
        assert_eq!(found, [format!("cosmetic:{kind}")], "{left} | {right}");
        assert!(close(gap, wanted), "{left} | {right}: {gap}");
        let (back, again) = kinds(right, left);
        assert_eq!((found, gap), (back, again));
    }
    // Order of keys and spelling of numbers do not reach the comparison.
    assert_eq!(
        kinds(r#"{"b":1,"a":1.0}"#, r#"{"a":1e0,"b":1}"#),
        (vec![], 0.0)
    );
    let raw = Comparer::default().diff(Answer::json("[1.0]"), Answer::json("[1]"), 9);
    assert_eq!(raw.paths[0].cosmetic, Some(CosmeticKind::NumberSpelling));
    assert_eq!(raw.gap.gap, 0.0);
    let many = "word ".repeat(20);
    let (found, gap) = kinds(&format!("{many} a, b"), &format!("{many} b a"));
    assert_eq!((found, gap), (vec!["cosmetic:wording".to_owned()], 0.0));
}

#[test]
fn nested_json_is_opened_several_levels_deep() {
    let value = r#"{"x":1,"y":[true,null]}"#;
    let mut nested = value.to_owned();
    for level in 1..=3 {
        let mut out = String::new();
        crate::json::push_json_string(&nested, &mut out);
        nested = out;
        let (found, gap) = kinds(&format!("[{nested}]"), &format!("[{value}]"));
        assert_eq!(found, ["cosmetic:nested_json"], "{level}");
        assert!(close(gap, 0.05));
    }
    // What differs inside is found inside: 1 of 2 paths, and .05 of the other.
    let found = diff(r#"{"a":"{\"x\":1,\"y\":2}"}"#, r#"{"a":{"x":1,"y":3}}"#);
    let lines: Vec<_> = found
        .paths
        .iter()
        .map(|d| format!("{} {}", d.path, d.label()))
        .collect();
    assert_eq!(lines, ["$.a.y value", "$.a cosmetic:nested_json"]);
    assert!(close(found.gap.gap, 0.5 + 0.05 * 0.5) && found.gap.union == 2);
    // A string that holds something else stays of another type.
    assert_eq!(kinds(r#"{"a":"[1]"}"#, r#"{"a":{"x":1}}"#).0, ["type"]);
    assert_eq!(kinds(r#"{"a":"{broken"}"#, r#"{"a":{"x":1}}"#).0, ["type"]);
    // Two strings with different values are two texts.
    assert_eq!(
        kinds(r#"["{\"x\":1}"]"#, r#"["{\"x\":2}"]"#),
        (vec!["value".to_owned()], 1.0)
    );
}

#[test]
fn severities_stand_per_path() {
    let found = diff(
        r#"{"a":1,"gone":1,"t":1,"o":[1,2],"c":"X"}"#,
        r#"{"a":2,"new":1,"t":"1","o":[2,1],"c":"x"}"#,
    );
    let of: Vec<_> = found
        .paths
        .iter()
        .map(|d| (d.path.as_str(), d.severity()))
        .collect();
    assert_eq!(
        of,
        [
            ("$.a", Severity::Warn),
            ("$.c", Severity::Info),
            ("$.gone", Severity::Warn),
            ("$.new", Severity::Info),
            ("$.o", Severity::Info),
            ("$.t", Severity::Error),
        ]
    );
    assert_eq!(found.gap.kinds.severity(), Some(Severity::Error));
}

#[test]
fn categories_rank_as_they_should() {
    let base = r#"{"id":"A1","user":{"name":"Mia","city":"Oslo"},"total":25,"status":"open"}"#;
    let gap = |other: &str| diff(base, other).gap.gap;
    let equal = gap(base);
    let keys =
        gap(r#"{"status":"open","total":25.0,"user":{"city":"Oslo","name":"Mia"},"id":"A1"}"#);
    let nulls = gap(
        r#"{"id":"A1","user":{"name":"Mia","city":"Oslo"},"total":25,"status":"open","note":null}"#,
    );
    let superset = gap(
        r#"{"id":"A1","user":{"name":"Mia","city":"Oslo"},"total":25,"status":"open","note":"x"}"#,
    );
    let wrong =
        gap(r#"{"id":"A1","user":{"name":"Mia","city":"Oslo"},"total":26,"status":"open"}"#);
    let rename =
        gap(r#"{"id":"A1","user":{"name":"Mia","town":"Oslo"},"total":25,"status":"open"}"#);
    assert_eq!((equal, keys), (0.0, 0.0));
    assert!(nulls > 0.0 && nulls < superset, "{nulls} {superset}");
    assert!(superset < wrong, "{superset} {wrong}");
    assert!(nulls < rename && rename < wrong, "{nulls} {rename} {wrong}");
    // An error flips the outcome: that is a gap of the transition, and whole.
    assert_eq!(crate::gap::outcome_distance("ok", "not_found"), 1.0);
    assert!(wrong < 1.0);
}

#[test]
fn a_version_in_an_error_link_is_no_gap() {
    let error = |version: &str| {
        format!(
            "Error: 1 validation error for Payment\namount\n  Input should be a valid integer [type=int_type, input_value='x', input_type=str]\n    For further information visit https://errors.pydantic.dev/{version}/v/int_type"
        )
    };
    let found = diff(&error("2.12"), &error("2.14"));
    assert!(found.gap.gap < 0.02 && found.gap.gap > 0.0);
    assert_eq!(found.paths[0].cosmetic, Some(CosmeticKind::UrlVersion));
    let found = diff(
        "Error: Reservation Not Found",
        "Error: reservation not found",
    );
    assert_eq!(found.paths[0].cosmetic, Some(CosmeticKind::LetterCase));
}

#[test]
fn a_renamed_field_keeps_most_of_itself() {
    // Paths: $.a shared; $.b and $.c, 0.4 each.
    let found = diff(r#"{"a":1,"b":"x"}"#, r#"{"a":1,"c":"x"}"#);
    let lines: Vec<_> = found.paths.iter().map(|d| (d.label(), d.weight)).collect();
    assert_eq!(
        lines,
        [("missing".to_owned(), 0.4), ("extra".to_owned(), 0.4)]
    );
    assert!(close(found.gap.gap, 0.8 / 3.0) && close(found.gap.structure, 0.8 / 3.0));
    // Not where more than one field could be meant, nor by a constant.
    assert!(close(
        diff(r#"{"b":"x"}"#, r#"{"c":"x","d":"x"}"#).gap.gap,
        1.0
    ));
    assert!(close(
        diff(r#"{"b":true,"n":2}"#, r#"{"c":true,"m":2}"#).gap.gap,
        1.0
    ));
    assert!(close(
        diff(r#"{"b":{"x":1,"y":2}}"#, r#"{"c":{"x":1,"y":2}}"#)
            .gap
            .gap,
        0.4
    ));
}
