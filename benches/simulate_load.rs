//! A load client for `fidelake simulate --http`, of the standard library alone:
//!
//!     rustc -O benches/simulate_load.rs -o simulate_load
//!     ./simulate_load 127.0.0.1:PORT TOOL '{"id":"R1"}' CONNECTIONS CALLS
//!
//! Every connection is kept alive, has an episode of its own (`/mcp/load-N`) and makes its calls one after the other.
//! Printed: calls per second over all, and the times from sending a call to the end of its answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn one(address: &str, number: usize, body: &str, calls: usize) -> std::io::Result<Vec<Duration>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    let request = format!(
        "POST /mcp/load-{number} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut times = Vec::with_capacity(calls);
    let (mut line, mut answer) = (String::new(), Vec::new());
    for _ in 0..calls {
        let begun = Instant::now();
        output.write_all(request.as_bytes())?;
        let (mut length, mut status) = (0, String::new());
        loop {
            line.clear();
            input.read_line(&mut line)?;
            let text = line.trim_end().to_ascii_lowercase();
            if text.is_empty() {
                break;
            }
            if let Some(value) = text.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
            if text.starts_with("http/1.1") {
                status = text;
            }
        }
        answer.resize(length, 0);
        input.read_exact(&mut answer)?;
        times.push(begun.elapsed());
        let text = String::from_utf8_lossy(&answer);
        assert!(
            status.starts_with("http/1.1 200") && text.contains("\"result\""),
            "{status}: {text}"
        );
    }
    Ok(times)
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [address, tool, arguments, connections, calls] = given.as_slice() else {
        eprintln!("usage: simulate_load ADDRESS TOOL ARGUMENTS CONNECTIONS CALLS");
        std::process::exit(2);
    };
    let connections: usize = connections.parse().expect("a number of connections");
    let calls: usize = calls.parse().expect("a number of calls");
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}"
    );
    // Episodes are begun before the clock.
    for number in 0..connections {
        one(address, number, &body, 1).expect("the simulator answers");
    }
    let begun = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let each = calls / connections;
        let all: Vec<_> = (0..connections)
            .map(|number| {
                let body = &body;
                scope
                    .spawn(move || one(address, number, body, each).expect("the simulator answers"))
            })
            .collect();
        all.into_iter()
            .flat_map(|one| one.join().expect("no panic"))
            .collect()
    });
    let took = begun.elapsed();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{} calls over {connections} connections in {:.2} s: {:.0} calls/s; p50 {:.3} ms, p99 {:.3} ms, most {:.3} ms",
        times.len(),
        took.as_secs_f64(),
        times.len() as f64 / took.as_secs_f64(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
