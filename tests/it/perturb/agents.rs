//! Scripted agents in perturbed stores: what each habit saves, and harm that a lake can be asked about.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fidelake::dual::agents::{Agent, Arm, Episode, Patience, Played, ReadBack, Right, line, play};
use fidelake::env::perturb::{Around, Item, Perturbations};
use fidelake::env::{Context, Environment, Spec, Start};
use serde_json::Value;

use super::command;
use crate::support::{Place, text};

fn store() -> Arc<dyn Environment> {
    let spec: Spec = toml::from_str(&command()).unwrap();
    let context = Context {
        name: "store",
        folder: Path::new("/"),
        lake: None,
    };
    spec.build(&context).unwrap()
}

fn patience() -> Patience {
    Patience {
        backoff: Duration::from_millis(1),
        longest: Duration::from_millis(20),
        ..Patience::default()
    }
}

async fn played(environment: &Arc<dyn Environment>, episode: &Episode, agent: &str) -> Played {
    let mut session = environment.open(&Start::Fresh).await.unwrap();
    let agent = Agent::parse(agent).unwrap();
    let played = play(session.as_mut(), episode, &agent, 0, &patience())
        .await
        .unwrap();
    session.close().await;
    played
}

/// A task, with what its right calls gave in the clean world, and that play.
async fn episode(trajectory: &str, calls: &[(&str, &str)]) -> (Episode, Played) {
    let calls = calls.iter().map(|(name, arguments)| Right {
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
        result: None,
    });
    let mut episode = Episode {
        trajectory: trajectory.to_owned(),
        told: Some("Please keep the store in order.".to_owned()),
        calls: calls.collect(),
        read_backs: vec![ReadBack {
            after: "add_to".to_owned(),
            call: "get_entry".to_owned(),
        }],
        ..Episode::default()
    };
    let clean = played(&store(), &episode, "gold").await;
    for (call, made) in episode.calls.iter_mut().zip(&clean.calls) {
        call.result.clone_from(&made.answer.content);
    }
    episode.tools.clone_from(&clean.tools);
    (episode, clean)
}

fn rough(item: Item) -> Arc<dyn Environment> {
    let set = Perturbations::new(&[item], 3).unwrap();
    set.around(store(), Around::default()).unwrap()
}

fn named(name: &str) -> Item {
    Item {
        name: name.to_owned(),
        intensity: Some(1.0),
        ..Item::default()
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work)
}

const ADDS: &[(&str, &str)] = &[
    ("add_to", r#"{"key":"k","n":2}"#),
    ("get_entry", r#"{"key":"k"}"#),
    ("add_to", r#"{"key":"k","n":3}"#),
];

#[test]
fn each_habit_saves_from_what_it_is_for() {
    run(async {
        let (episode, clean) = episode("t", ADDS).await;
        let succeeds = async |item: &Item, agent: &str| {
            played(&rough(item.clone()), &episode, agent)
                .await
                .succeeded(&clean)
        };
        for agent in Agent::all() {
            let again = played(&store(), &episode, &agent.name()).await;
            assert!(again.succeeded(&clean), "{}", agent.name());
        }
        // What was not made is made again.
        let limited = named("transition_rate_limit");
        assert!(!succeeds(&limited, "gold").await);
        assert!(succeeds(&limited, "gold+retry").await);
        // What took effect must not be: only who looks is saved.
        let lost = Item {
            takes_effect: Some(1.0),
            tools: Some(["add_to".to_owned()].into()),
            ..named("transition_timeout")
        };
        assert!(succeeds(&lost, "gold").await);
        assert!(!succeeds(&lost, "gold+retry").await);
        assert!(succeeds(&lost, "gold+retry+read_back").await);
        // A renamed tool is found by its words.
        let renamed = named("reward_cd_ab");
        assert!(!succeeds(&renamed, "gold+retry").await);
        assert!(succeeds(&renamed, "picker").await);
        // Waiting is seen in the calls' times, not in their number.
        let asked = Item {
            retry_after_s: Some(0.01),
            ..limited.clone()
        };
        let waited = played(&rough(asked), &episode, "rebinding+retry+backoff").await;
        assert!(waited.succeeded(&clean));
        let purposes: Vec<&str> = waited.calls.iter().map(|made| made.purpose).collect();
        assert_eq!(
            purposes,
            ["call", "retry", "call", "retry", "call", "retry"]
        );
    });
}

/// What the first agent did, and who succeeded.
async fn all<'a>(
    environment: &Arc<dyn Environment>,
    episode: &Episode,
    agents: &[&'a str],
    clean: &Played,
) -> (Played, Vec<(&'a str, bool)>) {
    let mut plays = Vec::new();
    for agent in agents {
        plays.push(played(environment, episode, agent).await);
    }
    let succeeded = plays.iter().map(|played| played.succeeded(clean));
    let verdicts = agents.iter().copied().zip(succeeded).collect();
    (plays.swap_remove(0), verdicts)
}

#[test]
fn a_lake_of_their_verdicts_can_be_validated() {
    let agents = ["gold", "gold+retry", "gold+retry+read_back", "picker+retry"];
    let kinds = [
        "transition_timeout",
        "transition_auth",
        "reward_td_ab",
        "action_b",
        "obs_tool_desc",
    ];
    let lines = run(async {
        let mut lines = String::new();
        for n in 1..=2 {
            let add = format!(r#"{{"key":"k{n}","n":{n}}}"#);
            let get = format!(r#"{{"key":"k{n}"}}"#);
            let calls = [("add_to", &*add), ("get_entry", &get), ("add_to", &add)];
            let (episode, clean) = episode(&n.to_string(), &calls).await;
            let on_sim = all(&store(), &episode, &agents, &clean).await;
            for kind in kinds {
                let on_real = all(&rough(named(kind)), &episode, &agents, &clean).await;
                for (name, (shown, verdicts)) in [("sim", &on_sim), ("real", &on_real)] {
                    let arm = Arm {
                        environment: "store",
                        trajectory: &format!("{n}/{kind}"),
                        name,
                        repeat: 0,
                        labels: &[("perturbation", kind)],
                        latencies: true,
                    };
                    writeln!(lines, "{}", line(&episode, &arm, shown, verdicts)).unwrap();
                }
            }
        }
        lines
    });
    let place = Place::new();
    let file = place.write("made.jsonl", lines);
    let counts = place.import(&[text(&file)]);
    assert_eq!((counts.runs, counts.verdicts, counts.rejected), (20, 80, 0));
    place.done(&["profile"]);
    let ran = place.done(&[
        "validate",
        "--by",
        "perturbation",
        "--resamples",
        "50",
        "--format",
        "json",
    ]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let harm = |label: &str| {
        let groups = found["groups"].as_array().unwrap();
        let group = groups.iter().find(|group| group["label"] == label).unwrap();
        group["harm"].as_f64().unwrap()
    };
    // One of four agents does not try again; three of four go by the old name.
    assert_eq!(
        (harm("transition_timeout"), harm("transition_auth")),
        (0.25, 0.25)
    );
    assert_eq!(
        (
            harm("reward_td_ab"),
            harm("action_b"),
            harm("obs_tool_desc")
        ),
        (0.75, 0.0, 0.0)
    );
}
