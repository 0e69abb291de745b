//! Figures on real pairs, where the data is at hand: `cargo test --release
//! -p fidelake-core figures -- --ignored --nocapture`, with `FIDELAKE_DATA` the
//! folder that holds `tau/airline_dual.jsonl`.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Answer, Comparer, ObsGap, PathRule, PathRules, RuleAction, RuleCache};
use crate::json::{Doc, Structured, structured};

struct Pair {
    id: String,
    name: String,
    texts: [String; 2],
    found: [Option<Structured>; 2],
}

fn pairs(file: &str) -> Option<Vec<Pair>> {
    let folder = std::env::var("FIDELAKE_DATA").ok()?;
    let lines = std::fs::read_to_string(format!("{folder}/{file}")).ok()?;
    let mut calls: BTreeMap<String, (String, [Option<String>; 2])> = BTreeMap::new();
    for line in lines.lines() {
        let doc = Doc::parse(line).unwrap();
        let run = doc.root();
        let arm = usize::from(run.get_str("arm") == Some("real"));
        for call in run.get("calls").unwrap().elements() {
            let place = |key: &str| call.get(key).unwrap().raw().to_owned();
            let id = format!(
                "{} {:0>3} {}",
                run.get_str("trajectory_id").unwrap(),
                place("turn"),
                place("index")
            );
            let content = call.get("result").unwrap().get("content").unwrap();
            let text = content.as_str().unwrap_or(content.raw()).to_owned();
            let entry = calls.entry(id).or_default();
            entry.0 = call.get_str("name").unwrap().to_owned();
            entry.1[arm] = Some(text);
        }
    }
    Some(
        calls
            .into_iter()
            .filter_map(|(id, (name, [a, b]))| {
                let texts = [a?, b?];
                let found = [structured(&texts[0]), structured(&texts[1])];
                Some(Pair {
                    id,
                    name,
                    texts,
                    found,
                })
            })
            .collect(),
    )
}

impl Pair {
    fn answers(&self) -> (Answer<'_>, Answer<'_>) {
        (
            Answer::of(&self.texts[0], self.found[0].as_ref()),
            Answer::of(&self.texts[1], self.found[1].as_ref()),
        )
    }
}

/// The seconds of the fastest of many rounds: what else the machine does only adds.
fn fastest(mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 2.0 {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn report(file: &str) -> Option<Vec<(Pair, ObsGap)>> {
    let pairs = pairs(file)?;
    let mut comparer = Comparer::default();
    let bytes: usize = pairs
        .iter()
        .map(|p| p.answers())
        .map(|(a, b)| a.text.len() + b.text.len())
        .sum();
    for distinct in [false, true] {
        let chosen: Vec<_> = pairs
            .iter()
            .map(Pair::answers)
            .filter(|(a, b)| !distinct || a.text != b.text)
            .collect();
        let size: usize = chosen
            .iter()
            .map(|(a, b)| a.text.len() + b.text.len())
            .sum();
        let mut sum = 0.0;
        let best = fastest(|| {
            sum = chosen
                .iter()
                .map(|&(a, b)| comparer.observe(a, b).gap)
                .sum();
        });
        println!(
            "{file}: {} pairs{}, {} bytes a pair, {:.0} ns a pair, {:.0} MB/s (sum {sum:.3})",
            chosen.len(),
            if distinct { " that differ" } else { "" },
            size / chosen.len(),
            best / chosen.len() as f64 * 1e9,
            size as f64 / best / 1e6,
        );
    }
    let rules = [
        ("$..updated_at", "ignore"),
        ("$.flights", "key_by=flight_number"),
        ("$.created_at", "class=form"),
    ];
    let rules = rules.map(|(path, action)| PathRule::new(path, RuleAction::parse(action).unwrap()));
    let rules = PathRules::new(rules.to_vec()).unwrap();
    let mut cache = RuleCache::new(&rules);
    let best = fastest(|| {
        for pair in &pairs {
            let (a, b) = pair.answers();
            let rules = cache.get("figures", &pair.name);
            std::hint::black_box(comparer.observe_with(rules, a, b));
        }
    });
    println!(
        "by three rules: {:.0} ns a pair",
        best / pairs.len() as f64 * 1e9
    );
    let raw: usize = pairs.iter().flat_map(|p| &p.texts).map(String::len).sum();
    let best = fastest(|| {
        for text in pairs.iter().flat_map(|p| &p.texts) {
            std::hint::black_box(structured(text));
        }
    });
    println!(
        "structured(): {:.0} ns a pair, {:.0} MB/s ({bytes} bytes)",
        best / pairs.len() as f64 * 1e9,
        raw as f64 / best / 1e6
    );
    let mut by_name: BTreeMap<String, Vec<ObsGap>> = BTreeMap::new();
    let mut out = vec![];
    for pair in pairs {
        let (a, b) = pair.answers();
        let gap = comparer.observe(a, b);
        by_name.entry(pair.name.clone()).or_default().push(gap);
        out.push((pair, gap));
    }
    let mut rows: Vec<_> = by_name
        .into_iter()
        .map(|(name, gaps)| {
            let mean =
                |of: fn(&ObsGap) -> f64| gaps.iter().map(of).sum::<f64>() / gaps.len() as f64;
            (
                mean(|g| g.gap),
                mean(|g| g.structure),
                mean(|g| g.value),
                mean(|g| g.gap_mass),
                gaps.len(),
                name,
            )
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (gap, structure, value, mass, n, name) in rows.iter().take(25) {
        println!("{gap:.4} structure {structure:.4} value {value:.4} mass {mass:.4} n {n} {name}");
    }
    Some(out)
}

#[test]
#[ignore = "needs FIDELAKE_DATA"]
fn figures() {
    let Some(found) = report("tau/airline_dual.jsonl") else {
        println!("skipped: FIDELAKE_DATA does not hold tau/airline_dual.jsonl");
        return;
    };
    let equal = found
        .iter()
        .filter(|(p, _)| p.texts[0] == p.texts[1])
        .count();
    let canonical = found.iter().filter(|(_, g)| g.equal).count();
    println!("byte-equal {equal}, equal {canonical}");
    let mut comparer = Comparer::default();
    for (pair, gap) in &found {
        if pair.name == "update_reservation_flights" || (pair.name != "think" && gap.value > 0.0) {
            let (a, b) = pair.answers();
            let diff = comparer.diff(a, b, 4);
            let paths: Vec<_> = diff
                .paths
                .iter()
                .map(|d| format!("{} {} {:.2}", d.path, d.kind.name(), d.weight))
                .collect();
            println!(
                "{} {} {:.4} of {} {paths:?}",
                pair.id, pair.name, gap.gap, gap.union
            );
        }
    }
    for (_, g) in report("mirrorapi/pairs.jsonl").into_iter().flatten() {
        assert!((0.0..=1.0).contains(&g.gap));
    }
}
