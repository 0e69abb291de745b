//! What a call costs through each kind of environment. Run by hand:
//!
//!     cargo test --test it environments::speed -- --ignored --nocapture

use std::time::Instant;

use super::{call, here, open, run};

const CALLS: usize = 2000;

#[test]
#[ignore = "a measurement, to be read beside another on the same machine"]
fn calls_through_each_kind() {
    let process = "kind = 'process'\ncommand = ['python3', 'hostile.py']";
    let mcp = "kind = 'mcp'\ncommand = ['python3', 'hostile_mcp.py']";
    run(async {
        for (kind, toml, tool) in [("process", process, "add"), ("mcp", mcp, "cancelled")] {
            let mut session = open(toml).await;
            let (mut whole, mut said) = (Vec::new(), Vec::new());
            for _ in 0..CALLS {
                let began = Instant::now();
                let answer = call(&mut session, tool, "{}").await;
                whole.push(began.elapsed().as_secs_f64() * 1e3);
                said.push(answer.latency_ms);
                assert_eq!(answer.fault, None);
            }
            session.close().await;
            report(&format!("{kind}, whole"), &mut whole);
            report(&format!("{kind}, latency_ms"), &mut said);
        }
    });
    report("the same script, called directly", &mut directly());
}

fn report(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    eprintln!("{what}: median {:.3} ms, p99 {:.3} ms", at(0.5), at(0.99));
}

/// Blocking pipes and nothing else.
fn directly() -> Vec<f64> {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let mut child = Command::new("python3")
        .arg(here().join("hostile_mcp.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let mut times = Vec::new();
    for id in 0..CALLS {
        let began = Instant::now();
        let question = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"cancelled","arguments":{{}}}}}}"#
        );
        writeln!(stdin, "{question}").unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    drop(stdin);
    child.wait().unwrap();
    times
}
