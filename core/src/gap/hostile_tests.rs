//! Payloads that were made, or cut, or nested to hurt: the comparison ends, in
//! time about linear in their size. Sizes here are scaled down for the debug
//! build; the 50 MiB ones are `cargo test --release -- --ignored hostile`.

use std::time::{Duration, Instant};

use super::{Answer, Comparer, ObsGap, PathRule, PathRules, RuleAction};
use crate::json::structured;

const MIB: usize = 1 << 20;

fn gap(left: &str, right: &str) -> ObsGap {
    let (a, b) = (structured(left), structured(right));
    let (a, b) = (Answer::of(left, a.as_ref()), Answer::of(right, b.as_ref()));
    let g = Comparer::default().observe(a, b);
    let rules = PathRules::new(vec![
        PathRule::new("$..id", RuleAction::Ignore),
        PathRule::new("$..*", RuleAction::parse("multiset").unwrap()),
        PathRule::new("$", RuleAction::parse("multiset").unwrap()),
    ]);
    let ruled = Comparer::default().observe_with(Some(&rules.unwrap().select("", "")), a, b);
    for g in [&g, &ruled] {
        assert!((0.0..=1.0).contains(&g.gap) && (0.0..=1.0).contains(&g.gap_mass));
    }
    g
}

/// Pairs of about `size` bytes each, by name.
fn pairs(size: usize) -> Vec<(&'static str, String, String)> {
    let nested = |open: &str, leaf: &str, close: &str| {
        let depth = (size / (open.len() + close.len())).min(10_000);
        format!("{}{leaf}{}", open.repeat(depth), close.repeat(depth))
    };
    let words = |odd: &str| {
        let mut text = String::with_capacity(size + 20);
        let mut at = 0u64;
        while text.len() < size {
            at += 1;
            text.push_str(&format!("w{} ", at.wrapping_mul(0x9E37_79B9) % 99_991));
            if at.is_multiple_of(1000) {
                text.push_str(odd);
            }
        }
        text
    };
    let keys = |step: usize| {
        let entries: Vec<_> = (0..size / 16)
            .map(|i| format!("\"k{:07}\":{i}", i * step))
            .collect();
        format!("{{{}}}", entries.join(","))
    };
    let list = |turn: usize| {
        let n = size / 24;
        let elements: Vec<_> = (0..n)
            .map(|i| format!("{{\"id\":{i},\"v\":{}}}", (i + turn) % n))
            .collect();
        format!("[{}]", elements.join(","))
    };
    // Every level holds the same two elements in another order.
    let reordered = |left: bool| {
        let mut text = "1".repeat(size);
        for _ in 0..64 {
            text = if left {
                format!("[2,{text}]")
            } else {
                format!("[{text},2]")
            };
        }
        text
    };
    let base64 = |last: char| {
        let body = "iVBORw0KGgoAAAANSUhEUgAB+/".repeat(size / 26);
        format!("{{\"image\":\"data:image/png;base64,{body}{last}\",\"n\":1}}")
    };
    let strings = |inner: &str| {
        let mut text = format!("[{}]", vec![inner; size / 64].join(","));
        for _ in 0..3 {
            let mut out = String::new();
            crate::json::push_json_string(&text, &mut out);
            text = format!("[{out}]");
        }
        text
    };
    let escapes = |odd: &str| format!("[\"{}{odd}\"]", "\\ud83d\\u00e9\\n".repeat(size / 14));
    let cut = |text: String| text[..text.len() - 7].to_owned();
    vec![
        (
            "nested arrays",
            nested("[", "1", "]"),
            nested("[", "2", "]"),
        ),
        (
            "nested objects",
            nested("{\"a\":", "1", "}"),
            nested("{\"a\":", "2", "}"),
        ),
        (
            "nested pairs",
            nested("[0,", "1", "]"),
            nested("[0,", "2", "]"),
        ),
        ("words", words("x "), words("y ")),
        ("case", "Ab ".repeat(size / 3), "aB ".repeat(size / 3)),
        (
            "spaces",
            "a ".to_owned() + &" ".repeat(size),
            "a".to_owned() + &" ".repeat(size) + "b",
        ),
        ("keys", keys(1), keys(2)),
        ("list", list(0), list(1)),
        ("reordered", reordered(true), reordered(false)),
        ("base64", base64('A'), base64('B')),
        (
            "strings in strings",
            strings("{\"a\": 1}"),
            strings("{\"a\":1}"),
        ),
        ("half surrogates", escapes("a"), escapes("b")),
        ("cut", cut(list(0)), list(0)),
        ("brackets", "[".repeat(size), "{".repeat(size)),
        (
            "slashes",
            "http://a/".to_owned() + &"1.0/".repeat(size / 4),
            "http://a/".to_owned() + &"1.1/".repeat(size / 4),
        ),
        (
            "numbers",
            format!("[{}]", "1".repeat(size)),
            format!("[{}]", "2".repeat(size)),
        ),
        ("quotes", "\"".repeat(size), "'".repeat(size)),
    ]
}

#[test]
fn hostile_pairs_end() {
    for (name, a, b) in pairs(MIB / 8) {
        let start = Instant::now();
        let g = gap(&a, &b);
        assert_eq!(gap(&b, &a).gap, g.gap, "{name}");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
    }
}

#[test]
#[ignore = "50 MiB payloads; run with --release"]
fn hostile_pairs_of_50_mib() {
    for (name, a, b) in pairs(50 * MIB) {
        let start = Instant::now();
        let (x, y) = (structured(&a), structured(&b));
        let read = start.elapsed();
        let start = Instant::now();
        let g = Comparer::default().observe(Answer::of(&a, x.as_ref()), Answer::of(&b, y.as_ref()));
        println!(
            "{name}: {} + {} bytes, read {read:.1?}, compared {:.1?}, gap {:.4}",
            a.len(),
            b.len(),
            start.elapsed(),
            g.gap
        );
        assert!(start.elapsed() < Duration::from_secs(30), "{name}");
    }
}

#[test]
fn strings_in_strings_are_equal_inside() {
    let (_, a, b) = pairs(MIB / 16)
        .into_iter()
        .find(|(name, ..)| *name == "strings in strings")
        .unwrap();
    let g = gap(&a, &b);
    assert_eq!((g.kinds.cosmetic, g.kinds.total()), (1, 1), "{g:?}");
}

#[test]
fn base64_is_compared_by_its_bytes_and_marked() {
    let body = "iVBORw0KGgoAAAANSUhEUgAB".repeat(100);
    let left = format!("{{\"image\":\"{body}AA\"}}");
    let right = format!("{{\"image\":\"{body}AB\"}}");
    let mut comparer = Comparer::default();
    for raw in [true, false] {
        let (a, b) = (structured(&left).unwrap(), structured(&right).unwrap());
        let (a, b) = match raw {
            true => (Answer::json(&left), Answer::json(&right)),
            false => (Answer::of("", Some(&a)), Answer::of("", Some(&b))),
        };
        let diff = comparer.diff(a, b, 9);
        assert_eq!(diff.gap.gap, 1.0);
        assert!(diff.paths[0].blob);
        assert!(
            diff.paths[0]
                .left
                .as_deref()
                .is_some_and(|v| v.starts_with("\"blob:"))
        );
    }
    let diff = comparer.diff(Answer::json(r#"["blob"]"#), Answer::json(r#"["x"]"#), 9);
    assert!(!diff.paths[0].blob);
}
