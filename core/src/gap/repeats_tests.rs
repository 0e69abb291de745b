//! Repeated calls, by hand and against the definitions spelled out.

use proptest::prelude::*;

use super::repeats::{
    Idempotency, Repeat, RepeatCall, idempotency_distance, read_after_write_distance, repeats,
    says_nothing,
};

/// "r1:ok7" is key r1 with outcome `ok` and answer 7. Keys with `r` are declared
/// reads, with `w` writes, others nothing; one call a turn, `|`-joined ones parallel.
fn calls(text: &str) -> Vec<RepeatCall<'_>> {
    let mut out = vec![];
    for (turn, words) in text.split_whitespace().enumerate() {
        for word in words.split('|') {
            let (name, rest) = word.split_once(':').unwrap();
            let outcome = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            out.push(RepeatCall {
                key: name.bytes().fold(0, |key, b| key << 8 | u128::from(b)),
                turn: turn as i32,
                mutates: match name.as_bytes()[0] {
                    b'r' => Some(false),
                    b'w' => Some(true),
                    _ => None,
                },
                outcome,
                answer: rest[outcome.len()..].parse().ok(),
                started_ms: Some(turn as f64 * 10.0),
                latency_ms: Some(4.0),
            });
        }
    }
    out
}

fn last(text: &str) -> Repeat {
    *repeats(&calls(text)).last().unwrap()
}

#[test]
fn idempotency_by_hand() {
    let class = |text: &str| last(text).idempotency.map(Idempotency::name);
    assert_eq!(class("u1:ok1"), None);
    assert_eq!(class("u1:ok1 u1:ok1"), Some("same"));
    assert_eq!(class("u1:ok1 u1:ok2"), Some("answer"));
    assert_eq!(class("w1:ok1 w1:conflict1"), Some("outcome"));
    // Only the last earlier one counts.
    assert_eq!(class("u1:ok1 u1:ok2 u1:ok2"), Some("same"));
    // A declared read between changes nothing; anything else may have, even a failure.
    assert_eq!(class("u1:ok1 r1:ok5 u1:ok2"), Some("answer"));
    assert_eq!(class("r1:ok1 u2:tool_error r1:ok2"), None);
    assert!(last("r1:ok1 w1:ok r1:ok1").change_between);
    // Answers that were not kept; another outcome is known all the same.
    assert_eq!(class("u1:ok u1:ok2"), None);
    assert_eq!(class("u1:ok u1:timeout"), Some("outcome"));
}

#[test]
fn parallel_calls_have_no_order() {
    assert_eq!(last("r1:ok1|r1:ok2").previous, None);
    assert_eq!(
        last("r1:ok1 w1:ok|r1:ok1"),
        Repeat {
            previous: Some(0),
            change_between: true,
            ..Repeat::default()
        }
    );
    // The write may have come before the first read.
    assert_eq!(last("r1:ok1|w1:ok r1:ok2").read_after_write, None);
    // Both repeat the one before; each other's sibling is a repeat, not something else.
    let found = repeats(&calls("u1:ok1 u1:ok1|u1:ok2"));
    assert_eq!(found[1].idempotency, Some(Idempotency::Same));
    assert_eq!(found[2].idempotency, Some(Idempotency::Answer));
}

#[test]
fn read_after_write_by_hand() {
    let seen = |text: &str| {
        let read = last(text).read_after_write?;
        Some((read.name(), read.write, read.delay_calls, read.delay_ms))
    };
    let visible = |write, calls, ms| Some(("visible", write, Some(calls), Some(ms)));
    // Write at 10 to 14 ms, read at 20.
    assert_eq!(seen("r1:ok1 w1:ok r1:ok2"), visible(1, 1, 6.0));
    assert_eq!(seen("r1:not_found r2:ok w1:ok r1:ok2"), visible(2, 1, 6.0));
    assert_eq!(seen("r1:ok1 w1:ok w2:ok r1:ok2"), visible(2, 1, 6.0));
    assert_eq!(
        seen("r1:ok1 w1:ok r1:ok1"),
        Some(("not_visible", 1, None, None))
    );
    // No write, a failed one, one nobody declared, and a call that is a write itself.
    assert_eq!(seen("r1:ok1 r2:ok r1:ok2"), None);
    assert_eq!(seen("r1:ok1 w1:conflict r1:ok2"), None);
    assert_eq!(seen("r1:ok1 u1:ok r1:ok2"), None);
    assert_eq!(seen("w2:ok1 w1:ok w2:ok2"), None);
    // An undeclared call that is repeated counts as a read.
    assert_eq!(seen("u1:ok1 w1:ok u1:ok2"), visible(1, 1, 6.0));
    // A read that got lost is passed over.
    assert_eq!(seen("r1:ok1 w1:ok r1:timeout"), None);
    assert_eq!(seen("r1:ok1 r1:timeout w1:ok r1:ok2"), visible(2, 1, 6.0));
    assert_eq!(seen("r1:ok1 w1:ok r1:timeout r1:ok2"), visible(1, 2, 16.0));
}

#[test]
fn the_delay_ends_where_something_else_may_have_written() {
    let first = |text: &str| repeats(&calls(text))[2].read_after_write.unwrap();
    let late = first("r1:ok1 w1:ok r1:ok1 r1:ok1 r1:ok2 r1:ok3");
    assert_eq!((late.visible, late.delay_calls), (false, Some(3)));
    assert_eq!(late.delay_ms, Some(26.0));
    let unknown = first("r1:ok1 w1:ok r1:ok1 u1:ok r1:ok2");
    assert_eq!((unknown.delay_calls, unknown.delay_ms), (None, None));
    let mut without_times = calls("r1:ok1 w1:ok r1:ok2");
    without_times[1].latency_ms = None;
    let read = repeats(&without_times)[2].read_after_write.unwrap();
    assert_eq!((read.delay_calls, read.delay_ms), (Some(1), None));
}

#[test]
fn distances_by_hand() {
    let (same, other) = (last("u1:ok1 u1:ok1"), last("u1:ok1 u1:ok2"));
    assert_eq!(idempotency_distance(&same, &same), Some(0.0));
    assert_eq!(idempotency_distance(&same, &other), Some(1.0));
    assert_eq!(idempotency_distance(&same, &Repeat::default()), None);
    let (fresh, stale) = (last("r1:ok1 w1:ok r1:ok2"), last("r1:ok1 w1:ok r1:ok1"));
    assert_eq!(read_after_write_distance(&fresh, &stale), Some(1.0));
    assert_eq!(read_after_write_distance(&fresh, &same), None);
}

#[test]
fn ten_thousand_calls_are_quick() {
    let call = |at: usize, keys: usize, mutates| RepeatCall {
        key: (at % keys) as u128,
        turn: (at / 100) as i32,
        mutates,
        outcome: "ok",
        answer: Some(1),
        ..RepeatCall::default()
    };
    let start = std::time::Instant::now();
    for (keys, mutates) in [(1, None), (5_000, None), (1, Some(false)), (50, Some(true))] {
        let run: Vec<_> = (0..10_000).map(|at| call(at, keys, mutates)).collect();
        assert_eq!(repeats(&run).len(), 10_000);
    }
    assert!(start.elapsed().as_secs() < 5);
}

fn run() -> impl Strategy<Value = Vec<RepeatCall<'static>>> {
    let outcome = prop::sample::select(vec!["ok", "ok", "ok", "not_found", "timeout"]);
    let call = (0u128..4, 0i32..3, outcome, prop::option::of(0u64..2));
    prop::collection::vec(call, 0..14).prop_map(|calls| {
        let mut turn = 0;
        let declared = [Some(false), Some(true), None, Some(false)];
        let call = |(key, step, outcome, answer): (u128, i32, _, _)| {
            turn += step.min(1);
            RepeatCall {
                key,
                turn,
                mutates: declared[key as usize],
                outcome,
                answer,
                ..RepeatCall::default()
            }
        };
        calls.into_iter().map(call).collect()
    })
}

proptest! {
    #[test]
    fn as_defined(calls in run()) {
        for (at, (call, found)) in calls.iter().zip(repeats(&calls)).enumerate() {
            let earlier: Vec<usize> = (0..at).filter(|&i| calls[i].key == call.key && calls[i].turn < call.turn).collect();
            prop_assert_eq!(found.previous, earlier.last().copied());
            let Some(previous) = found.previous else {
                prop_assert_eq!(found, Repeat::default());
                continue;
            };
            let between = calls.iter().any(|c| {
                c.key != call.key && c.mutates != Some(false) && (calls[previous].turn..=call.turn).contains(&c.turn)
            });
            prop_assert_eq!(found.change_between, between);
            let differ = |i: usize| match (calls[i].answer, call.answer) {
                _ if calls[i].outcome != call.outcome => Some(Idempotency::Outcome),
                (Some(a), Some(b)) if a == b => Some(Idempotency::Same),
                (Some(_), Some(_)) => Some(Idempotency::Answer),
                _ => None,
            };
            prop_assert_eq!(found.idempotency, differ(previous).filter(|_| !between));
            let usable = |c: &RepeatCall<'_>| c.mutates != Some(true) && !says_nothing(c.outcome);
            let before = earlier.iter().rev().copied().find(|&i| usable(&calls[i])).filter(|_| usable(call));
            let write = before.and_then(|b| (0..at).rev().find(|&w| {
                let c = &calls[w];
                c.mutates == Some(true) && c.outcome == "ok" && calls[b].turn < c.turn && c.turn < call.turn
            }));
            let expected = write.and(before).and_then(differ).map(|class| class != Idempotency::Same);
            prop_assert_eq!(found.read_after_write.map(|r| r.visible), expected);
            if let Some(read) = found.read_after_write {
                prop_assert_eq!(Some(read.write), write);
                prop_assert!(read.delay_calls.is_none_or(|calls| calls >= 1));
                prop_assert!(!read.visible || read.delay_calls == Some(at - read.write));
            }
        }
    }
}
