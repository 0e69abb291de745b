//! `fidelake mine`, `patterns` and `probe`: what is planted is found, named and described;
//! noise is not; probes are made, refused and run.

mod bad;
mod found;
mod noise;
mod probes;

use serde_json::{Value, json};

use crate::support::Place;

/// A call with its answer.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) name: &'static str,
    pub(super) arguments: Value,
    pub(super) result: Value,
}

pub(super) fn ok(content: Value) -> Value {
    json!({"content": content, "is_error": false, "latency_ms": 1.0})
}

pub(super) fn error(kind: &str) -> Value {
    json!({"content": {"error": kind}, "is_error": true, "error_type": kind, "latency_ms": 1.0})
}

fn catalog() -> Value {
    let tool = |name: &str, parameters: Value| json!({"name": name, "description": name, "parameters": parameters});
    let id =
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    json!([
        tool("get_user", id.clone()),
        tool("get_order", id.clone()),
        tool("cancel_order", id),
        tool(
            "sum_up",
            json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}})
        ),
    ])
}

/// One run in the native form.
pub(super) fn line(
    trajectory: usize,
    arm: &str,
    repeat: usize,
    calls: &[Made],
    with_catalog: bool,
) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(turn, call)| {
            json!({"turn": turn, "index": 0, "name": call.name, "arguments": call.arguments, "result": call.result})
        })
        .collect();
    let mut run = json!({"fidelake": 1, "trajectory_id": format!("shop/{trajectory}"), "environment": "shop", "arm": arm,
        "repeat": repeat, "calls": calls});
    if with_catalog {
        run["catalog"] = catalog();
    }
    format!("{run}\n")
}

/// What a shop answers, with what is planted: a limit on two of three users (`real`), orders
/// that stay as they were (`sim`), a parameter that nobody declared (answered on `sim`).
pub(super) fn calls(trajectory: usize, arm: &str) -> Vec<Made> {
    let real = arm == "real";
    let user = format!("u{trajectory}");
    let order = format!("o{trajectory}");
    let answer = |status: &str| {
        ok(json!({"id": order, "status": status, "items": [{"name": "pen", "price": trajectory}]}))
    };
    let made = |name, arguments, result| Made {
        name,
        arguments,
        result,
    };
    let limited = real && !trajectory.is_multiple_of(3);
    let mut all = vec![
        made(
            "get_user",
            json!({"id": user}),
            if limited {
                error("rate_limited")
            } else {
                ok(json!({"id": user, "name": "Ann"}))
            },
        ),
        made("get_order", json!({"id": order}), answer("open")),
        made(
            "cancel_order",
            json!({"id": order}),
            ok(json!({"done": true})),
        ),
        made(
            "get_order",
            json!({"id": order}),
            answer(if real { "cancelled" } else { "open" }),
        ),
    ];
    let odd = trajectory % 2 == 1;
    let arguments = if odd {
        json!({"a": trajectory, "round": true})
    } else {
        json!({"a": trajectory})
    };
    let refused = real && odd;
    all.push(made(
        "sum_up",
        arguments,
        if refused {
            error("invalid_arguments")
        } else {
            ok(json!({"sum": trajectory}))
        },
    ));
    all
}

/// A lake with `count` such trajectories, both arms run `repeats` times, profiled.
pub(super) fn shop(place: &Place, from: usize, count: usize, repeats: usize, with_catalog: bool) {
    let mut lines = String::new();
    for trajectory in from..from + count {
        for arm in ["sim", "real"] {
            for repeat in 0..repeats {
                lines.push_str(&line(
                    trajectory,
                    arm,
                    repeat,
                    &calls(trajectory, arm),
                    with_catalog,
                ));
            }
        }
    }
    let file = format!("shop-{from}.jsonl");
    place.write(&file, lines);
    place.import(&[&file]);
    place.done(&["profile"]);
}

pub(super) fn mined(place: &Place, more: &[&str]) -> (Value, String) {
    let mut words = vec!["mine", "--format", "json"];
    words.extend(more);
    let ran = place.done(&words);
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}
