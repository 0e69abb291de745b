//! `kind = "process"` against a script that does everything wrong.

use std::time::{Duration, Instant};

use fidelake::env::{EnvError, Fault, Start};

use super::{call, call_within, environment, kinds, open, run};

fn hostile(arguments: &str) -> String {
    format!(
        "kind = 'process'\ncommand = ['python3', 'hostile.py'{arguments}]\n\
         start_timeout_s = 5\nclose_timeout_s = 1\nmax_line_bytes = 1000000"
    )
}

#[test]
fn answers_keep_their_spelling_and_states_are_shown() {
    run(async {
        let mut session = open(&hostile(", 'resets'")).await;
        assert_eq!(session.version().as_deref(), Some("hostile 1"));
        let answer = call(&mut session, "add", "{}").await;
        assert_eq!(
            answer.content.as_deref(),
            Some(r#"{"b": 1.10, "a": 18446744073709551617, "n": NaN}"#)
        );
        assert_eq!((answer.fault, answer.is_error), (None, Some(false)));
        let snapshot = session.snapshot().await.unwrap().unwrap();
        assert_eq!(snapshot.state.as_deref(), Some(r#"{"n": 1}"#));
        assert_eq!(snapshot.hash.as_deref(), Some("h1"));
        session
            .reset(&Start::Given(r#"{"n": 41}"#.to_owned()))
            .await
            .unwrap();
        call(&mut session, "add", "{}").await;
        assert_eq!(
            session.snapshot().await.unwrap().unwrap().hash.as_deref(),
            Some("h42")
        );
        // Arguments arrive as they were spelled, on one line.
        let answer = call(&mut session, "echo", "{\"n\":\n1.10, \"m\": 1e400}").await;
        let said: String = serde_json::from_str(&answer.content.unwrap()).unwrap();
        assert!(
            said.contains(r#""arguments":{"n": 1.10, "m": 1e400}"#),
            "{said}"
        );
        let closing = session.close().await;
        assert_eq!(kinds(&closing.notes), ["stderr"], "{closing:?}");
    });
}

#[test]
fn a_long_list_of_tools_says_which_change_something() {
    run(async {
        let mut session = open(&hostile("")).await;
        let tools = session.tools().await.unwrap();
        assert_eq!(tools.len(), 5000);
        assert_eq!(
            (tools[4].mutates, tools[5].mutates),
            (Some(true), Some(false))
        );
        assert_eq!(
            tools[4999].declaration,
            r#"{"name": "t4999", "mutates": false}"#
        );
        let none = session.reset(&Start::Fresh).await;
        assert!(matches!(none, Err(EnvError::NoReset(_))), "{none:?}");
        session.close().await;
    });
}

#[test]
fn each_misbehaviour_is_an_answer_with_evidence_and_the_session_goes_on() {
    run(async {
        let mut session = open(&hostile("")).await;
        let noisy = call(&mut session, "noise", "{}").await;
        assert_eq!(noisy.content.as_deref(), Some("\"done\""));
        assert_eq!(kinds(&noisy.notes), ["noise_lines"]);
        assert!(noisy.notes[0].text.starts_with("102 lines"), "{noisy:?}");

        let late = call_within(&mut session, "late", "{}", Duration::from_millis(200)).await;
        assert_eq!(late.fault, Some(Fault::Late));
        let next = call(&mut session, "broken", "{}").await;
        assert_eq!(next.error_type.as_deref(), Some("server_error"));
        assert_eq!(kinds(&next.notes), ["late_answer"]);

        let invalid = call(&mut session, "invalid", "{}").await;
        assert_eq!(invalid.fault, Some(Fault::Malformed));
        assert_eq!(kinds(&invalid.notes), ["broken_answer"]);
        assert!(invalid.latency_ms < 5000.0);

        let wait = Duration::from_millis(300);
        let garbled = call_within(&mut session, "garbled", "{}", wait).await;
        assert_eq!(garbled.fault, Some(Fault::Malformed));

        let unknown = call(&mut session, "unknown_id", "{}").await;
        assert_eq!(unknown.content.as_deref(), Some("\"mine\""));
        assert_eq!(kinds(&unknown.notes), ["unknown_id"]);

        let endless = call(&mut session, "endless_line", "{}").await;
        assert_eq!(endless.fault, Some(Fault::Malformed));
        assert_eq!(kinds(&endless.notes), ["line_too_long"]);

        let bytes = call(&mut session, "bytes", "{}").await;
        assert_eq!(bytes.content.as_deref(), Some(r#""a\\xff""#));

        let limited = call(&mut session, "limited", "{}").await;
        assert_eq!(limited.status, Some(429));
        assert_eq!(limited.retry_after, Some(Duration::from_millis(250)));

        let nothing = call(&mut session, "anything", "{}").await;
        assert_eq!(kinds(&nothing.notes), ["no_content"]);
        session.close().await;
    });
}

#[test]
fn an_exit_in_the_middle_is_told_with_its_status_and_stderr() {
    run(async {
        let mut session = open(&hostile("")).await;
        let answer = call(&mut session, "exit", "{}").await;
        assert_eq!(answer.fault, Some(Fault::Lost));
        assert_eq!(answer.notes[0].kind, "exit_status");
        let said = &answer.notes[0].text;
        assert!(
            said.contains('3') && said.contains("out of memory"),
            "{said}"
        );
        let next = call(&mut session, "add", "{}").await;
        assert_eq!(next.fault, Some(Fault::NotSent));
        let closing = session.close().await;
        assert!(
            kinds(&closing.notes).contains(&"exit_status"),
            "{closing:?}"
        );
    });
}

#[test]
fn a_flood_ends_the_session_and_not_the_machine() {
    run(async {
        let mut session = open(&hostile("")).await;
        let answer = call(&mut session, "flood", "{}").await;
        assert_eq!(answer.fault, Some(Fault::Lost));
        assert_eq!(answer.notes[0].kind, "flood");
        let closing = session.close().await;
        assert!(kinds(&closing.notes).contains(&"killed"), "{closing:?}");
    });
}

#[test]
fn what_hangs_is_late_and_what_stays_is_killed() {
    run(async {
        let mut session = open(&hostile(", 'stay'")).await;
        let answer = call_within(&mut session, "hang", "{}", Duration::from_millis(200)).await;
        assert_eq!(answer.fault, Some(Fault::Late));
        assert!(answer.fault.unwrap().in_doubt());
        let began = Instant::now();
        let closing = session.close().await;
        assert!(kinds(&closing.notes).contains(&"killed"), "{closing:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn everything_that_was_started_is_ended() {
    run(async {
        let mut session = open(&hostile("")).await;
        let answer = call(&mut session, "children", "{}").await;
        let pids: Vec<u32> = serde_json::from_str(&answer.content.unwrap()).unwrap();
        let alive = |pid: u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            status.is_ok_and(|text| !text.contains(") Z "))
        };
        assert!(pids.iter().all(|pid| alive(*pid)));
        // One of them left the process group.
        session.close().await;
        let until = Instant::now() + Duration::from_secs(5);
        while pids.iter().any(|pid| alive(*pid)) {
            assert!(Instant::now() < until, "{pids:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        // A session that is only dropped leaves nothing behind either.
        let mut session = open(&hostile("")).await;
        let answer = call(&mut session, "children", "{}").await;
        let pids: Vec<u32> = serde_json::from_str(&answer.content.unwrap()).unwrap();
        drop(session);
        let until = Instant::now() + Duration::from_secs(5);
        while pids.iter().any(|pid| alive(*pid)) {
            assert!(Instant::now() < until, "{pids:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn what_does_not_start_says_why() {
    run(async {
        let failed = |toml: String| async move {
            environment(&toml)
                .open(&Start::Fresh)
                .await
                .unwrap_err()
                .to_string()
        };
        let died = failed(hostile(", 'die'")).await;
        assert!(
            died.contains("exit status: 7") && died.contains("no database"),
            "{died}"
        );
        let hung = failed(hostile(", 'hang'").replace("s = 5", "s = 3")).await;
        assert!(hung.contains("no answer within 3 s"), "{hung}");
        assert!(hung.contains("a warning"), "{hung}");
        let absent = failed("kind = 'process'\ncommand = ['no-such-program']".to_owned()).await;
        assert!(absent.contains("no-such-program"), "{absent}");
    });
}
