//! What the simulator was asked and could not answer from recordings.
//!
//! One line per question, a run in the native form: the state-changing calls of the
//! episode so far, then the call. So `fidelake dual run` can make them for real as
//! they stand. Only the owner may read the file: arguments are not masked.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, push_json_string};

use super::error::ServeError;

/// Beyond this nothing is added: somebody should look at it first.
const LARGEST: u64 = 64 << 20;

/// The file that is written, question by question.
#[derive(Debug)]
pub(super) struct Unanswered {
    environment: String,
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    size: u64,
    known: HashSet<u128>,
    fresh: u64,
    lost: u64,
}

/// A question: the calls of the prefix and the call itself, names and JSON arguments.
pub(super) struct Question<'a> {
    pub(super) why: &'static str,
    pub(super) episode: &'a str,
    pub(super) prefix: &'a [(String, String)],
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

impl Unanswered {
    /// Opens the file, and knows the questions that stand in it.
    pub(super) fn open(path: &Path, environment: &str) -> Result<Self, ServeError> {
        let fail = |source| ServeError::Io {
            what: path.display().to_string(),
            source,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(fail)?;
        let (known, whole) = known(&file).map_err(fail)?;
        let mut inner = Inner {
            size: file.metadata().map_err(fail)?.len(),
            file,
            known,
            fresh: 0,
            lost: 0,
        };
        if !whole {
            // A killed simulator left half a line: the next one starts on its own.
            inner.file.write_all(b"\n").map_err(fail)?;
        }
        Ok(Self {
            environment: environment.to_owned(),
            path: path.to_owned(),
            inner: Mutex::new(inner),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a question down, unless it stands there.
    pub(super) fn add(&self, question: &Question<'_>) {
        let own = (question.name.to_owned(), question.arguments.to_owned());
        let calls: Vec<&(String, String)> = question
            .prefix
            .iter()
            .chain(std::iter::once(&own))
            .collect();
        let mut parts = vec!["asked 1", &*self.environment];
        parts.extend(
            calls
                .iter()
                .flat_map(|(name, arguments)| [&**name, &**arguments]),
        );
        let key = Key::of_parts(&parts);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if !inner.known.insert(key.bits()) {
            return;
        }
        let line = self.line(key, question, &calls);
        if inner.size + line.len() as u64 > LARGEST
            || inner.file.write_all(line.as_bytes()).is_err()
        {
            inner.lost += 1;
            return;
        }
        inner.size += line.len() as u64;
        inner.fresh += 1;
    }

    /// Questions that were new, and those that could not be written.
    pub(super) fn counts(&self) -> (u64, u64) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        (inner.fresh, inner.lost)
    }

    fn line(&self, key: Key, question: &Question<'_>, calls: &[&(String, String)]) -> String {
        let mut json =
            format!("{{\"fidelake\":1,\"trajectory_id\":\"asked/{key}\",\"environment\":");
        push_json_string(&self.environment, &mut json);
        json.push_str(
            ",\"arm\":\"sim\",\"repeat\":0,\"origin\":\"generated\",\"labels\":{\"asked\":\"",
        );
        json.push_str(question.why);
        json.push_str("\",\"tool\":");
        push_json_string(question.name, &mut json);
        json.push_str(",\"episode\":");
        push_json_string(question.episode, &mut json);
        json.push_str("},\"calls\":[");
        for (turn, (name, arguments)) in calls.iter().enumerate() {
            if turn > 0 {
                json.push(',');
            }
            json.push_str(&format!("{{\"turn\":{turn},\"index\":0,\"name\":"));
            push_json_string(name, &mut json);
            json.push_str(",\"arguments\":");
            json.push_str(&one_line(arguments));
            json.push('}');
        }
        json + "]}\n"
    }
}

/// JSON on one line: line breaks stand between its parts only.
fn one_line(arguments: &str) -> String {
    match Doc::parse(arguments) {
        Ok(_) => crate::env::one_line(arguments),
        Err(_) => "{}".to_owned(),
    }
}

/// Keys of the questions in the file; whether its last line is whole.
fn known(file: &File) -> io::Result<(HashSet<u128>, bool)> {
    let mut known = HashSet::new();
    let mut reader = BufReader::new(file);
    let (mut line, mut whole) = (Vec::new(), true);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok((known, whole));
        }
        whole = line.ends_with(b"\n");
        let text = String::from_utf8_lossy(&line);
        let key = text.split_once("\"asked/").map(|(_, rest)| rest);
        let key = key.and_then(|rest| Key::parse(rest.get(..32)?));
        known.extend(key.map(Key::bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_stands_there_once_and_is_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.jsonl");
        let ask = |name: &str| {
            let journal = Unanswered::open(&path, "shop").unwrap();
            for _ in 0..2 {
                journal.add(&Question {
                    why: "missed",
                    episode: "e",
                    prefix: &[("buy".into(), "{\n\"id\": 1.10}".into())],
                    name,
                    arguments: "{}",
                });
            }
            journal.counts()
        };
        assert_eq!(
            (ask("see"), ask("see"), ask("go")),
            ((1, 0), (0, 0), (1, 0))
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["calls"][0]["arguments"]["id"], 1.1);
        assert_eq!(first["calls"][1]["name"], "see");
        // Half a line of a killed one is no part of the next.
        std::fs::write(&path, "{\"fidelake\":1,\"traj").unwrap();
        assert_eq!(ask("see"), (1, 0));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(text.lines().last().unwrap()).is_ok());
    }
}
