//! A tiny world worked by hand, and what must hold in any.

use proptest::prelude::*;

use super::*;
use crate::gap::catalog::Tool;

const CITY: &str = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;

fn tool<'a>(name: &'a str, description: &'a str, parameters: &'a str) -> Tool<'a> {
    Tool {
        name,
        description,
        parameters,
    }
}

fn told(task: &str) -> Episode<'_> {
    Episode { task, seen: &[] }
}

fn call<'a>(name: &'a str, arguments: &'a str) -> RightCall<'a> {
    RightCall {
        sim: (name, arguments),
        ..RightCall::default()
    }
}

/// Every word weighs 1.
fn flat() -> Probe {
    Probe::new(TermWeights::flat())
}

fn run(sim: (&str, &[Tool<'_>]), real: (&str, &[Tool<'_>]), right: &[RightCall<'_>]) -> Decision {
    let probe = flat();
    let pair = probe.pair(sim.1, real.1);
    decide(&probe, &pair, told(sim.0), told(real.0), right)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn worked_by_hand() {
    // q = {weather, in, rome}. weather: name 1/sqrt 3, no description, parameter `city` 0.
    // s = .577350 + .3 against book: s = .3.
    let tools = [tool("weather", "", CITY), tool("book", "", CITY)];
    let right = [call("weather", r#"{"city":"Rome"}"#)];
    let ask = "weather in Rome";
    let same = run((ask, &tools), (ask, &tools), &right);
    let odds = ((1.0 / 3f64.sqrt()) / 0.15).exp();
    assert!(near(same.sim.unwrap(), odds / (odds + 1.0)));
    assert_eq!((same.signed, same.split), (Some(0.0), Some([0.0; 3])));
    assert_eq!(
        (same.gap(), same.pick_shift, same.flow),
        (Some(0.0), Some(0.0), None)
    );

    // The literal misspelt: the pick stays near, nothing grounds. q = {weather, in, rmoe}.
    let typo = run((ask, &tools), ("weather in Rmoe", &tools), &right);
    assert_eq!(typo.real, Some(0.0));
    assert!(near(typo.split.unwrap()[0], same.sim.unwrap()));
    assert_eq!(typo.calls[0].ground, [1.0, 0.0]);

    // A tool of the same name that takes nothing: .577350 against .577350 + .3.
    let twin = [tool("weather", "", ""), tools[0], tools[1]];
    let found = run((ask, &tools), (ask, &twin), &right);
    let without = odds * (-0.3f64 / 0.15).exp();
    assert!(near(found.real.unwrap(), odds / (odds + 1.0 + without)));
    let split = found.split.unwrap();
    assert!(near(split[1], found.signed.unwrap()) && split[0] == 0.0 && split[2] == 0.0);
}

#[test]
fn a_rename_is_rew_and_the_right_name_follows_it() {
    let sim = [tool("weather", "", CITY), tool("book", "", "")];
    let real = [tool("wthr", "", CITY), tool("book", "", "")];
    let found = run(
        ("weather", &sim),
        ("weather", &real),
        &[call("weather", "{}")],
    );
    let split = found.split.unwrap();
    assert!(
        split[2] > 0.01 && near(split[2], found.signed.unwrap()),
        "{found:?}"
    );
    assert_eq!((split[0], split[1]), (0.0, 0.0));
    // A tool that is gone is act, and nothing is right any more.
    let found = run(
        ("weather", &sim),
        ("weather", &sim[1..]),
        &[call("weather", "{}")],
    );
    assert_eq!(found.real, Some(0.0));
    assert!(near(found.split.unwrap()[1], found.sim.unwrap()));
    // Its own answer in real is right there.
    let own = RightCall {
        real: Some(("book", "{}")),
        ..call("weather", "{}")
    };
    let found = run(("weather", &sim), ("weather", &sim[1..]), &[own]);
    assert_eq!(found.real, Some(1.0));
}

#[test]
fn what_answers_gave_flows_on() {
    let tools = [tool("find", "", ""), tool("open", "", CITY)];
    let seen = |text| [Seen { turn: 0, text }];
    let (sim, real) = (seen("id X7"), seen("id lost"));
    let episode = |seen| Episode { task: "find", seen };
    let call = RightCall {
        turns: [Some(1), Some(1)],
        ..call("open", r#"{"city":"X7"}"#)
    };
    let probe = flat();
    let pair = probe.pair(&tools, &tools);
    let found = decide(&probe, &pair, episode(&sim), episode(&real), &[call]);
    assert_eq!((found.flow, found.calls[0].ground), (Some(1.0), [1.0, 0.0]));
    let found = decide(&probe, &pair, episode(&sim), episode(&sim), &[call]);
    assert_eq!((found.flow, found.signed), (Some(0.0), Some(0.0)));
}

#[test]
fn without_right_calls_only_the_shift_of_picks_is_known() {
    let tools = [tool("find", "", ""), tool("open", "", CITY)];
    let found = run(("find", &tools), ("open", &tools), &[]);
    assert!(found.pick_shift.unwrap() > 0.5);
    assert_eq!((found.signed, found.gap(), found.split), (None, None, None));
}

/// A policy that was logged in the two worlds only.
struct Logged;

impl Agent for Logged {
    fn picks(&self, offer: &Offer<'_>, mix: Mix) -> Option<Vec<f64>> {
        let of = |right: f64| {
            let tools = offer.pair.offered(mix);
            let picks = tools.map(|t| if t.name == "find" { right } else { 1.0 - right });
            Some(picks.collect())
        };
        match mix {
            Mix::SIM => of(0.75),
            Mix::REAL => of(0.25),
            _ => None,
        }
    }
}

#[test]
fn logged_decisions_stand_in_for_the_probe() {
    let tools = [tool("find", "", ""), tool("open", "", CITY)];
    let pair = flat().pair(&tools, &tools);
    let found = decide(&Logged, &pair, told("x"), told("y"), &[call("find", "{}")]);
    assert_eq!((found.signed, found.split), (Some(0.5), None));
    assert_eq!(found.pick_shift, Some(0.5));
}

#[test]
fn hostile_texts_are_read() {
    let deep = "{\"a\":".repeat(50_000) + "1" + &"}".repeat(50_000);
    let tools = [tool("", &deep, &deep), tool("f", "", "[]")];
    let right = [call("f", &deep), call("", "{\"a\": nonsense")];
    let found = run(("", &tools), ("\u{1F600}", &[]), &right);
    assert!(found.signed.unwrap().is_finite());
    let found = run(("a", &[]), ("a", &[]), &right);
    assert_eq!((found.signed, found.pick_shift), (Some(0.0), Some(0.0)));
}

fn catalog() -> impl Strategy<Value = Vec<Tool<'static>>> {
    let name = prop::sample::select(vec!["find", "findUser", "book_it", "fu"]);
    let text = prop::sample::select(vec![
        "",
        "Find a user.",
        "Find a user. Costs $1 per call",
        "Book",
    ]);
    let day = r#"{"properties":{"day":{"type":"string"},"user":{"type":"string"}}}"#;
    let schema = prop::sample::select(vec!["", CITY, day, "broken"]);
    let tool = (name, text, schema).prop_map(|(n, d, p)| tool(n, d, p));
    prop::collection::vec(tool, 0..5)
}

proptest! {
    #[test]
    fn the_split_is_whole_and_equal_worlds_differ_in_nothing(
        sim in catalog(), real in catalog(),
        a in "(find|user|book|Rome| ){0,6}", b in "(find|user|book|Rome| ){0,6}",
        gold in prop::sample::select(vec!["find", "findUser", "fu", "none"]),
        arguments in prop::sample::select(vec!["{}", r#"{"city":"Rome"}"#, r#"{"day":"user 2"}"#]),
    ) {
        let right = [call(gold, arguments), call("book_it", "{}")];
        let found = run((&a, &sim), (&b, &real), &right);
        let (signed, split) = (found.signed.unwrap(), found.split.unwrap());
        prop_assert!((split.iter().sum::<f64>() - signed).abs() < 1e-12);
        for p in [found.sim.unwrap(), found.real.unwrap(), found.gap().unwrap(), found.pick_shift.unwrap()] {
            prop_assert!((0.0..=1.0 + 1e-12).contains(&p));
        }
        let mean: f64 = found.calls.iter().map(CallDecision::signed).sum::<f64>() / 2.0;
        prop_assert!((mean - signed).abs() < 1e-12);
        let same = run((&a, &sim), (&a, &sim), &right);
        prop_assert_eq!((same.signed, same.pick_shift, same.all_calls), (Some(0.0), Some(0.0), Some(0.0)));
        // The order of tools says nothing, unless two of one name must be told apart.
        let mut turned = sim.clone();
        turned.reverse();
        let names: std::collections::BTreeSet<_> = sim.iter().map(|t| t.name).collect();
        if names.len() == sim.len() {
            let other = run((&a, &turned), (&b, &real), &right);
            prop_assert!((other.signed.unwrap() - signed).abs() < 1e-9);
        }
    }

    #[test]
    fn shapley_gives_each_its_own_where_they_do_not_meet(o in -1.0f64..1.0, a in -1.0f64..1.0, r in -1.0f64..1.0) {
        let values: Vec<f64> = Mix::all()
            .map(|mix| Dimension::ALL.iter().zip([o, a, r]).filter(|(d, _)| mix.real(**d)).map(|(_, v)| v).sum())
            .collect();
        for (found, own) in shapley(&values).iter().zip([o, a, r]) {
            prop_assert!((found - own).abs() < 1e-12);
        }
    }

    #[test]
    fn coalitions_matter_and_nothing_else(values in prop::collection::vec(-1.0f64..1.0, 8)) {
        let sum: f64 = shapley(&values).iter().sum();
        prop_assert!((sum - (values[7] - values[0])).abs() < 1e-12);
    }
}
