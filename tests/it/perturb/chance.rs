//! The same seed gives the same bytes, whatever runs beside; without intensity nothing changes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fidelake::env::perturb::{Around, Perturbations};
use fidelake::env::{
    Answer, Closing, EnvResult, Environment, Place, Request, Session, Snapshot, Start, Tool,
};
use proptest::prelude::*;

/// A counter without a process: its answers follow from the calls before.
#[derive(Debug)]
struct Counters;

#[derive(Debug, Default)]
struct Counter {
    n: i64,
}

#[async_trait]
impl Environment for Counters {
    fn kind(&self) -> &'static str {
        "process"
    }

    async fn open(&self, _start: &Start) -> EnvResult<Box<dyn Session>> {
        Ok(Box::new(Counter::default()))
    }
}

#[async_trait]
impl Session for Counter {
    fn version(&self) -> Option<String> {
        None
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let tool = |name: &str, mutates| Tool {
            name: name.to_owned(),
            declaration: format!(
                r#"{{"name":"{name}","description":"Gets the value","parameters":{{"type":"object","properties":{{"{name}_id":{{"type":"string","description":"The name of it"}}}}}}}}"#
            ),
            mutates: Some(mutates),
        };
        Ok(vec![tool("add", true), tool("read", false)])
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        // Lets other sessions go first.
        tokio::task::yield_now().await;
        self.n += i64::from(request.name == "add");
        let list: Vec<String> = (0..20).map(|at| (at + self.n).to_string()).collect();
        Answer {
            content: Some(format!(
                r#"{{"the_sum":{}, "list":[{}]}}"#,
                self.n,
                list.join(",")
            )),
            is_error: Some(!matches!(request.name, "add" | "read")),
            ..Answer::default()
        }
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        let state = Some(self.n.to_string());
        Ok(Some(Snapshot { state, hash: None }))
    }

    async fn reset(&mut self, _start: &Start) -> EnvResult<()> {
        self.n = 0;
        Ok(())
    }

    async fn close(self: Box<Self>) -> Closing {
        Closing::default()
    }
}

/// What an agent sees of a run: tools, answers without times, the state at the end.
async fn seen(environment: Arc<dyn Environment>, trajectory: String, repeat: i32) -> Vec<String> {
    let mut session = environment.open(&Start::Fresh).await.unwrap();
    let place = |position| Place {
        trajectory: &trajectory,
        repeat,
        position,
    };
    session.place(place(0));
    let tools = session.tools().await.unwrap();
    let mut seen: Vec<String> = tools.into_iter().map(|tool| tool.declaration).collect();
    for position in 0..12 {
        session.place(place(position));
        let request = Request {
            name: if position % 3 == 0 { "add" } else { "read" },
            arguments: r#"{"x":1}"#,
            timeout: Duration::from_secs(5),
        };
        let mut answer = session.call(request).await;
        answer.latency_ms = 0.0;
        seen.push(format!("{answer:?}"));
    }
    seen.push(format!("{:?}", session.snapshot().await.unwrap()));
    session.close().await;
    seen
}

fn around(list: &str, seed: u64, own_repeats: bool) -> Arc<dyn Environment> {
    let around = Around {
        uncounted_calls: true,
        own_repeats,
        ..Around::default()
    };
    let set = Perturbations::parse(list, seed).unwrap();
    set.around(Arc::new(Counters), around).unwrap()
}

fn run<T>(threads: usize, work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

/// All that need no waiting, eventual consistency first.
fn lists() -> impl Strategy<Value = String> {
    let names: Vec<&str> = fidelake_core::perturb::Perturbation::ALL
        .iter()
        .map(|kind| kind.as_str())
        .filter(|name| !matches!(*name, "latency" | "obs_typos" | "obs_paraphrase"))
        .collect();
    let some = prop::sample::subsequence(names, 1..=4).prop_shuffle();
    (some, 0.0f64..=1.0).prop_map(|(mut names, intensity)| {
        names.sort_by_key(|name| *name != "eventual_consistency");
        let list: Vec<String> = names
            .iter()
            .map(|name| format!("{name}={intensity}"))
            .collect();
        list.join(",")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn runs_come_out_the_same_whatever_runs_beside_them(list in lists(), seed: u64) {
        let environment = around(&list, seed, false);
        let alone: Vec<_> = run(1, async {
            let mut all = Vec::new();
            for trajectory in 0..8 {
                all.push(seen(Arc::clone(&environment), trajectory.to_string(), 0).await);
            }
            all
        });
        let beside: Vec<_> = run(2, async {
            let environment = around(&list, seed, false);
            let tasks: Vec<_> = (0..8)
                .rev()
                .map(|trajectory| tokio::spawn(seen(Arc::clone(&environment), trajectory.to_string(), 3)))
                .collect();
            let mut all = Vec::new();
            for task in tasks {
                all.push(task.await.unwrap());
            }
            all.reverse();
            all
        });
        prop_assert_eq!(alone, beside, "{}", list);
    }

    #[test]
    fn at_intensity_nought_nothing_changes(list in lists(), seed: u64) {
        let names: Vec<&str> = list.split(',').map(|one| one.split('=').next().unwrap()).collect();
        let none: Vec<String> = names.iter().map(|name| format!("{name}=0")).collect();
        let same = run(1, seen(around(&none.join(","), seed, false), "t".into(), 0));
        prop_assert_eq!(same, run(1, seen(Arc::new(Counters), "t".into(), 0)));
    }
}

#[test]
fn seeds_trajectories_and_own_repeats_differ() {
    let list = "transition_server_error=0.5";
    let of = |seed, trajectory: &str, repeat, own| {
        run(
            1,
            seen(around(list, seed, own), trajectory.to_owned(), repeat),
        )
    };
    let base = of(1, "a", 0, false);
    assert_ne!(base, of(2, "a", 0, false));
    assert_ne!(base, of(1, "b", 0, false));
    assert_eq!(base, of(1, "a", 1, false));
    assert_ne!(of(1, "a", 0, true), of(1, "a", 1, true));
    // Every answer that was changed says so, and no other.
    let plain = run(1, seen(Arc::new(Counters), "a".into(), 0));
    for (answer, plain) in base.iter().zip(&plain) {
        let noted = answer.contains("transition_server_error: not made");
        assert_eq!(noted, answer.contains("is_error: Some(true)"), "{answer}");
        assert!(
            noted || answer == plain || answer.contains("the_sum") || answer.contains("Snapshot")
        );
    }
}
