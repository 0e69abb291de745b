//! What the tests share: a folder of one's own, the program, and the rows of a lake.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};

use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::SessionContext;
use fidelake::lake::{At, Lake};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Columns that say when an import was made, and so differ between equal lakes.
const TIMES_OF_IMPORT: &[&str] = &["imported_at"];

/// A folder that ends with its test; commands run inside it.
pub(crate) struct Place {
    dir: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("fidelake-test-")
            .tempdir()
            .unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn lake(&self) -> PathBuf {
        self.path("lake")
    }

    /// Makes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fidelake"));
        command
            .current_dir(self.dir.path())
            .args(args)
            .env_remove("FIDELAKE_LAKE")
            .env_remove("FIDELAKE_FAILPOINT")
            .env_remove("FIDELAKE_FAILPOINT_LOG")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs a command that must end well.
    pub(crate) fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(
            ran.code,
            Some(0),
            "{args:?}\n{}\n{}",
            ran.stdout,
            ran.stderr
        );
        ran
    }

    /// Imports, and gives the counts as printed with `--format json`.
    pub(crate) fn import(&self, args: &[&str]) -> Counts {
        let mut all = vec!["import", "--format", "json"];
        all.extend(args);
        Counts::parse(&self.done(&all).stdout)
    }

    /// A text of what a command said, the same on every machine and every day.
    pub(crate) fn said(&self, ran: &Ran) -> String {
        let mut text = String::new();
        let code = ran.code.map_or("none".to_owned(), |code| code.to_string());
        let _ = writeln!(text, "exit code {code}");
        for (name, part) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            if !part.is_empty() {
                let _ = write!(text, "--- {name}\n{part}");
            }
        }
        let resolved = self.dir.path().canonicalize().unwrap();
        text.replace(&*resolved.to_string_lossy(), "[TMP]")
            .replace(&*self.dir.path().to_string_lossy(), "[TMP]")
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Starts a command that prints an address first, and gives what stands behind `prefix`.
pub(crate) fn listening(command: &mut Command, prefix: &str) -> (Child, String) {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let Some(address) = line.trim().strip_prefix(prefix) else {
        let mut why = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut why).unwrap();
        panic!("it did not start: {line}{why}");
    };
    let address = address.to_owned();
    (child, address)
}

/// Compares what was said with a stored text; times, processes and ids have no fixed text.
macro_rules! assert_said {
    ($place:expr, $name:expr, $ran:expr) => {{
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.add_filter(
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?",
            "[TIME]",
        );
        settings.add_filter(r"process \d+", "process [PID]");
        settings.add_filter(r"\b[0-9a-f]{16}([0-9a-f]{16})?\b", "[ID]");
        settings.add_filter(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[UUID]");
        let text = $place.said(&$ran);
        settings.bind(|| insta::assert_snapshot!($name, text));
    }};
}
pub(crate) use assert_said;

/// The counts that an import prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counts {
    pub(crate) files: u64,
    pub(crate) records: u64,
    pub(crate) imported: u64,
    pub(crate) trajectories: u64,
    pub(crate) runs: u64,
    pub(crate) messages: u64,
    pub(crate) calls: u64,
    pub(crate) observations: u64,
    pub(crate) verdicts: u64,
    pub(crate) duplicates: u64,
    pub(crate) rejected: u64,
}

impl Counts {
    pub(crate) fn parse(text: &str) -> Self {
        let counts: Self = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
        counts.check();
        counts
    }

    /// Nothing is lost and nothing stands twice.
    pub(crate) fn check(&self) {
        let sum = self.imported + self.duplicates + self.rejected;
        assert_eq!(self.records, sum, "{self:?}");
    }
}

/// Runs a query over the tables of a lake.
pub(crate) fn query_at(lake: &Path, at: &At, sql: &str) -> Vec<RecordBatch> {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

    let lake = Lake::open(lake).unwrap();
    let pinned = lake.pin(at).unwrap();
    RUNTIME.block_on(async {
        let context = SessionContext::new();
        // Loading a table reads its log: only those that the query names.
        for name in pinned
            .version()
            .tables
            .keys()
            .filter(|name| sql.contains(*name))
        {
            let table = pinned.table(name).await.unwrap().unwrap();
            table.update_datafusion_session(&context.state()).unwrap();
            let provider = table.table_provider().await.unwrap();
            context.register_table(name.as_str(), provider).unwrap();
        }
        context.sql(sql).await.unwrap().collect().await.unwrap()
    })
}

/// Rows of the newest lake version, as JSON objects.
pub(crate) fn query(lake: &Path, sql: &str) -> Vec<Value> {
    json_lines(&query_at(lake, &At::Newest, sql))
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect()
}

/// The one number that a query gives.
pub(crate) fn number(lake: &Path, sql: &str) -> i64 {
    let rows = query(lake, sql);
    let row = rows.first().and_then(Value::as_object).unwrap();
    row.values().next().and_then(Value::as_i64).unwrap()
}

/// Rows as JSON lines, every null written, times as microseconds.
pub(crate) fn json_lines(batches: &[RecordBatch]) -> impl Iterator<Item = String> {
    let mut bytes = Vec::new();
    let mut writer = arrow::json::WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, arrow::json::writer::LineDelimited>(&mut bytes);
    for batch in batches {
        writer.write(&plain(batch)).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    let text = String::from_utf8(bytes).unwrap();
    text.lines()
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

fn plain(batch: &RecordBatch) -> RecordBatch {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let column = match field.data_type() {
            DataType::Timestamp(_, _) => arrow::compute::cast(column, &DataType::Int64).unwrap(),
            _ => Arc::clone(column),
        };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// All tables, in the order of their names.
pub(crate) fn tables() -> Vec<&'static str> {
    let mut names: Vec<_> = fidelake::lake::schema::tables()
        .iter()
        .map(|table| table.name)
        .collect();
    names.sort_unstable();
    names
}

/// The rows of a table in an order of their own, without times of import and `without`.
pub(crate) fn rows(lake: &Path, table: &str, without: &[&str]) -> Vec<String> {
    let columns: Vec<String> = fidelake::lake::schema::table(table)
        .unwrap()
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !TIMES_OF_IMPORT.contains(name) && !without.contains(name))
        .map(|name| format!("\"{name}\""))
        .collect();
    let sql = format!("SELECT {} FROM {table}", columns.join(", "));
    let mut rows: Vec<_> = json_lines(&query_at(lake, &At::Newest, &sql)).collect();
    rows.sort_unstable();
    rows
}

/// The rows of every table, to compare several lakes with.
pub(crate) struct AllRows {
    without: Vec<String>,
    tables: Vec<(&'static str, Vec<String>)>,
}

impl AllRows {
    pub(crate) fn without(lake: &Path, without: &[&str]) -> Self {
        Self {
            without: without.iter().map(|name| (*name).to_owned()).collect(),
            tables: tables()
                .into_iter()
                .map(|table| (table, rows(lake, table, without)))
                .collect(),
        }
    }

    /// Every table of the other lake holds the same rows.
    pub(crate) fn assert_in(&self, lake: &Path, what: &str) {
        let without: Vec<&str> = self.without.iter().map(String::as_str).collect();
        for (table, wanted) in &self.tables {
            let found = rows(lake, table, &without);
            assert!(
                found == *wanted,
                "{what}: table {table} has {} rows for {}; the first that differs:\n{:?}\n{:?}",
                found.len(),
                wanted.len(),
                found.iter().find(|row| !wanted.contains(row)),
                wanted.iter().find(|row| !found.contains(row)),
            );
        }
    }
}

/// Every table holds the same rows in both lakes.
pub(crate) fn assert_same_rows(lake: &Path, wanted: &Path, without: &[&str], what: &str) {
    AllRows::without(wanted, without).assert_in(lake, what);
}

/// The newest lake version.
pub(crate) fn newest(lake: &Path) -> i64 {
    Lake::open(lake).unwrap().newest().unwrap().version
}

/// Real data that is not part of the project; `None`, and said aloud, where it is absent.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FIDELAKE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    skipped("needs ../shared/data");
    None
}

/// Says why the test that runs did nothing.
pub(crate) fn skipped(why: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    eprintln!("SKIPPED: {name} {why}");
}

/// A file of the project's own sample data.
pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("sample_data")
        .join(name)
}

/// The text of a path, for a command line.
pub(crate) fn text(path: &(impl AsRef<OsStr> + ?Sized)) -> &str {
    path.as_ref().to_str().unwrap()
}

/// Everything in a file, decompressed if it is zstd.
pub(crate) fn decoded(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        return bytes;
    }
    let mut decoder = zstd::Decoder::new(&bytes[..]).unwrap();
    decoder.window_log_max(31).unwrap();
    let mut decoded = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut decoded).unwrap();
    decoded
}

/// Compresses with a window of 2 to the power `window_log` bytes.
pub(crate) fn zstd_long(bytes: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(window_log).unwrap();
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}
