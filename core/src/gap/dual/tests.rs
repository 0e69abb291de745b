use super::*;
use crate::gap::noise::Noise;

fn call<'a>(arm: Arm, repeat: i32, turn: i32, text: &'a str, outcome: &'a str) -> RunCall<'a> {
    RunCall {
        arm,
        repeat,
        turn,
        index: 0,
        name: "get",
        key: 1,
        arguments: "{}",
        answer: Answer::json(text),
        outcome: Some(outcome),
        state: StateAfter::default(),
        latency_ms: None,
    }
}

const FIRSTS: Firsts = Firsts {
    sim: [Some(0), Some(1)],
    real: [Some(0), Some(1)],
};

fn compare<'a>(calls: &[RunCall<'a>]) -> Vec<SlotGap<'a>> {
    compare_runs(calls, FIRSTS, &NoKnowledge, &mut Comparer::default())
}

#[test]
fn two_runs_of_each_arm_by_hand() {
    use Arm::{Real, Sim};
    let calls = [
        call(Sim, 0, 0, r#"{"a":1,"b":1}"#, "ok"),
        call(Sim, 1, 0, r#"{"a":1,"b":2}"#, "ok"),
        call(Real, 0, 0, r#"{"a":2,"b":1}"#, "ok"),
        call(Real, 1, 0, r#"{"a":2,"b":1}"#, "ok"),
    ];
    // sr: .5, .5, 1, 1 (b differs too); ss: .5; rr: 0. D = .75 - .25, C = .75.
    let found = compare(&calls);
    let [obs, act, ..] = found[0].parts;
    assert_eq!((found.len(), found[0].runs), (1, [2, 2]));
    assert_eq!(
        (obs.distance, obs.raw, obs.reliability),
        (Some(0.75), Some(0.5), Some(0.75))
    );
    assert_eq!((obs.first, obs.second), (Some(0.5), Some(1.0)));
    assert_eq!(
        (obs.own, obs.noise),
        ([Some(0.5), Some(0.0)], Some(Noise::Measured))
    );
    assert_eq!((act.raw, act.reliability), (Some(0.0), Some(1.0)));
    assert_eq!(found[0].cause, Cause::Structural);
    assert_eq!(found[0].paths.len(), 1);
    // In any order of the rows.
    let mut turned = calls;
    turned.reverse();
    assert_eq!(compare(&turned)[0].parts, found[0].parts);
}

#[test]
fn another_outcome_is_no_other_answer() {
    let calls = [
        call(Arm::Sim, 0, 0, "1", "ok"),
        call(Arm::Real, 0, 0, "2", "not_found"),
        call(Arm::Sim, 0, 1, "1", "ok"),
    ];
    let found = compare(&calls);
    let [obs, _, outcome, ..] = found[0].parts;
    assert_eq!((obs.distance, outcome.raw), (None, Some(1.0)));
    assert!((found[0].weight - 0.95).abs() < 1e-12);
    assert_eq!(
        (found[1].runs, found[1].outcomes),
        ([1, 0], [Some("ok"), None])
    );
}

/// `get` reads, `set` writes and is read back by `get`.
struct Declared;

impl Knowledge for Declared {
    fn learned(&self, _: &str) -> Learned {
        Learned([[Some(0.25), Some(0.25)]; 7])
    }

    fn rules(&self, _: &str, _: bool) -> Option<std::rc::Rc<crate::gap::CompiledRules>> {
        None
    }

    fn mutates(&self, api: &str) -> Option<bool> {
        Some(api == "set")
    }

    fn reads_back(&self, write: &str, read: &str) -> bool {
        (write, read) == ("set", "get")
    }
}

#[test]
fn a_write_is_read_back_and_seen_later_or_not() {
    use Arm::{Real, Sim};
    let set = |arm, turn| RunCall {
        name: "set",
        key: 2,
        ..call(arm, 0, turn, "null", "ok")
    };
    // The real world does not show the write.
    let calls = [
        call(Sim, 0, 0, r#"{"a":1}"#, "ok"),
        set(Sim, 1),
        call(Sim, 0, 2, r#"{"a":2}"#, "ok"),
        call(Real, 0, 0, r#"{"a":1}"#, "ok"),
        set(Real, 1),
        call(Real, 0, 2, r#"{"a":1}"#, "ok"),
    ];
    let firsts = Firsts {
        sim: [Some(0), None],
        real: [Some(0), None],
    };
    let found = compare_runs(&calls, firsts, &Declared, &mut Comparer::default());
    let [_, _, _, state, ..] = found[1].parts;
    assert_eq!((state.distance, state.raw), (Some(1.0), Some(0.75)));
    assert_eq!(state.noise, Some(Noise::Learned));
    let [.., read_after_write, _] = found[2].parts;
    assert_eq!(read_after_write.distance, Some(1.0));
    assert_eq!(found[2].visible_after, [Some(1.0), None]);
    assert_eq!(found[1].cause, Cause::Structural);
    assert_eq!(found[2].cause, Cause::State);
}
