//! Environments against programs that behave, and against programs that do not.

mod http;
mod mcp;
mod process;
mod servers;
mod speed;

use std::path::{Path, PathBuf};
use std::time::Duration;

use std::sync::Arc;

use fidelake::env::{Answer, Context, EnvResult, Environment, Request, Session, Spec, Start};

/// The folder of these tests: their scripts stand in it.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/environments")
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work)
}

fn environment(toml: &str) -> Arc<dyn Environment> {
    build(toml).unwrap()
}

fn build(toml: &str) -> EnvResult<Arc<dyn Environment>> {
    let spec: Spec = toml::from_str(toml).unwrap();
    let context = Context {
        name: "tested",
        folder: &here(),
        lake: None,
    };
    spec.build(&context)
}

async fn open(toml: &str) -> Box<dyn Session> {
    environment(toml).open(&Start::Fresh).await.unwrap()
}

async fn call(session: &mut Box<dyn Session>, name: &str, arguments: &str) -> Answer {
    call_within(session, name, arguments, Duration::from_secs(20)).await
}

async fn call_within(
    session: &mut Box<dyn Session>,
    name: &str,
    arguments: &str,
    timeout: Duration,
) -> Answer {
    let request = Request {
        name,
        arguments,
        timeout,
    };
    session.call(request).await
}

fn kinds(notes: &[fidelake::env::Note]) -> Vec<&'static str> {
    notes.iter().map(|note| note.kind).collect()
}
