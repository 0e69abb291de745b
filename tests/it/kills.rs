//! Killed at random moments of a long import, then run again: as if nothing had happened.
//! It takes a quarter of an hour: `make test-kill`.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use arrow::row::{RowConverter, SortField};
use fidelake::lake::At;
use fidelake_core::json::key::Key;

use crate::generate::{self, Chance};
use crate::support::{Counts, Place, query_at, tables};

/// The import must last so long.
const LASTS: Duration = Duration::from_secs(20);

/// How often it is killed.
const KILLS: u64 = 20;

/// Number and order-free hash of the rows of a table, times of import excepted.
fn fingerprint(lake: &Path, table: &str) -> (usize, u128) {
    let schema = fidelake::lake::schema::table(table).unwrap();
    let columns: Vec<String> = schema
        .columns
        .iter()
        .filter(|column| column.name != "imported_at")
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    let sql = format!("SELECT {} FROM {table}", columns.join(", "));
    let (mut rows, mut sum) = (0, 0u128);
    for batch in query_at(lake, &At::Newest, &sql) {
        let fields = batch
            .schema()
            .fields()
            .iter()
            .map(|f| SortField::new(f.data_type().clone()))
            .collect();
        let converter = RowConverter::new(fields).unwrap();
        for row in &converter.convert_columns(batch.columns()).unwrap() {
            rows += 1;
            sum = sum.wrapping_add(Key::of(row.as_ref()).bits());
        }
    }
    (rows, sum)
}

fn fingerprints(lake: &Path) -> Vec<(&'static str, (usize, u128))> {
    tables()
        .into_iter()
        .map(|table| (table, fingerprint(lake, table)))
        .collect()
}

fn write_input(path: &Path, trajectories: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    for first in (0..trajectories).step_by(1000) {
        let part = generate::file(first, 1000.min(trajectories - first), 77 + first);
        file.write_all(part.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

#[test]
#[ignore = "takes a quarter of an hour: make test-kill"]
fn twenty_kills_at_random_moments_change_nothing() {
    let place = Place::new();
    let input = place.path("input.jsonl");
    let args = |lake: &'static str| {
        [
            "import",
            "input.jsonl",
            "--format",
            "json",
            "--quiet",
            "--lake",
            lake,
        ]
    };
    // Long enough on this machine.
    let mut trajectories = 50_000;
    let (clean, lasted) = loop {
        write_input(&input, trajectories);
        let _ = std::fs::remove_dir_all(place.path("clean"));
        let started = Instant::now();
        let ran = place.done(&args("clean"));
        let lasted = started.elapsed();
        eprintln!("{trajectories} trajectories take {lasted:.1?}");
        if lasted >= LASTS {
            break (Counts::parse(&ran.stdout), lasted);
        }
        let factor = LASTS.as_secs_f64() / lasted.as_secs_f64() * 1.15;
        trajectories = (trajectories as f64 * factor) as u64;
    };
    let wanted = fingerprints(&place.path("clean"));
    let mut chance = Chance::new(20);
    let mut cut = 0;
    for kill in 0..KILLS {
        let lake = place.path("killed");
        let _ = std::fs::remove_dir_all(&lake);
        let mut child = place
            .command(&args("killed"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let moment = lasted.mul_f64(chance.below(10_000) as f64 / 10_000.0);
        std::thread::sleep(moment);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        cut += u32::from(!status.success());
        let ran = place.done(&args("killed"));
        let counts = Counts::parse(&ran.stdout);
        if status.success() {
            // It had ended: then the second import found everything there.
            assert_eq!(counts.records, clean.records);
        } else if counts != clean {
            // Killed after the last commit, before it could say so.
            assert_eq!(
                (counts.records, counts.imported, counts.rejected),
                (clean.records, 0, clean.rejected)
            );
        }
        assert_eq!(fingerprints(&lake), wanted, "kill {kill} after {moment:?}");
        eprintln!("kill {kill} after {moment:.1?}: the same rows and counts");
    }
    assert!(cut >= 15, "only {cut} kills came in time");
}
