//! Perturbations: around a session, in a plan, of recorded runs.

mod agents;
mod chance;
mod plans;
mod recorded;
mod servers;
mod sessions;

use std::path::Path;

/// The command of the store, as TOML.
fn command() -> String {
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/perturb/world.py");
    let python = std::env::var("FIDELAKE_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    format!("kind = \"process\"\ncommand = [{python:?}, {world:?}]\n")
}
