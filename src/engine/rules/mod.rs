//! `LAKE/_fidelake/rules.toml`: what people say of the tools of an environment.
//!
//! A mistake is reported with its line. The file is part of the inputs of every
//! profile that it touches, and of no other.

mod file;

use std::path::Path;

use fidelake_core::gap::PathRule;
use fidelake_core::json::key::KeyHasher;

use super::error::{EngineError, EngineResult};
use file::File;

/// Where the rules of a lake stand.
const RULES: &str = "_fidelake/rules.toml";

/// Everything that the file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) declared: Declared,
    /// How answers are compared.
    pub(crate) paths: Vec<PathRule>,
}

/// What is declared of the tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    environments: Vec<Tools>,
}

/// The tools of the environments of one name.
#[derive(Clone, Debug)]
struct Tools {
    name: glob::Pattern,
    reads: Vec<glob::Pattern>,
    writes: Vec<glob::Pattern>,
    readbacks: Vec<(glob::Pattern, glob::Pattern)>,
}

impl Said {
    /// Reads the rules of a lake; without a file there are none.
    ///
    /// # Errors
    /// With the line, if the file cannot be understood.
    pub(crate) fn read(lake: &Path) -> EngineResult<Self> {
        let path = lake.join(RULES);
        let Some(text) = text(&path)? else {
            return Ok(Self::default());
        };
        let wrong = |(at, message): (usize, String)| {
            let line = text.get(..at).unwrap_or(&text).matches('\n').count() + 1;
            EngineError::Rules(format!("{}:{line}: {message}", path.display()))
        };
        File::parse(&text)
            .and_then(|file| file.said(&text))
            .map_err(wrong)
    }
}

/// A hash of the file, whatever it says.
///
/// # Errors
/// If the file is there and cannot be read.
pub(crate) fn hash(lake: &Path) -> EngineResult<String> {
    let mut hasher = KeyHasher::default();
    hasher.update(text(&lake.join(RULES))?.unwrap_or_default().as_bytes());
    Ok(hasher.hex())
}

/// The text of the file, if there is one.
fn text(path: &Path) -> EngineResult<Option<String>> {
    match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read
            .map(Some)
            .map_err(|e| EngineError::Rules(format!("{}: {e}", path.display()))),
    }
}

impl Declared {
    /// Whether nothing is declared.
    pub(crate) fn is_empty(&self) -> bool {
        self.environments.is_empty()
    }

    /// Whether a tool may change something. A tool is what the first matching
    /// environment says: a read if it is among `reads`; else a write if it is among
    /// `writes`, or if no writes are named, since then the reads are all there are.
    pub(crate) fn mutates(&self, environment: &str, api: &str) -> Option<bool> {
        let tools = self.tools(environment)?;
        let among = |patterns: &[glob::Pattern]| patterns.iter().any(|p| p.matches(api));
        if among(&tools.reads) {
            return Some(false);
        }
        let only_reads = tools.writes.is_empty() && !tools.reads.is_empty();
        (among(&tools.writes) || only_reads).then_some(true)
    }

    /// Whether `read` shows the state that `write` left.
    pub(crate) fn reads_back(&self, environment: &str, write: &str, read: &str) -> bool {
        self.tools(environment).is_some_and(|tools| {
            let mut pairs = tools.readbacks.iter();
            pairs.any(|(after, call)| after.matches(write) && call.matches(read))
        })
    }

    fn tools(&self, environment: &str) -> Option<&Tools> {
        self.environments
            .iter()
            .find(|tools| tools.name.matches(environment))
    }

    /// Everything that is said of one tool, into a hash; whether anything is.
    pub(crate) fn describe(&self, environment: &str, api: &str, into: &mut KeyHasher) -> bool {
        let Some(tools) = self.tools(environment) else {
            return false;
        };
        let mutates = self.mutates(environment, api);
        into.update(format!("{mutates:?}").as_bytes());
        let pairs = tools.readbacks.iter();
        for (after, call) in pairs.filter(|(after, call)| after.matches(api) || call.matches(api)) {
            into.update(format!("{after} {call}\n").as_bytes());
        }
        mutates.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Result<Declared, (usize, String)> {
        let said = File::parse(text).and_then(|file| file.said(text))?;
        Ok(said.declared)
    }

    #[test]
    fn reads_are_all_there_are_unless_writes_are_named() {
        let found = declared(
            r#"
            version = 1
            [[environment]]
            name = "air*"
            reads = ["get_*", "think"]
            readback = [{ after = "update_*", call = "get_reservation" }]
            [[environment]]
            name = "shop"
            writes = ["buy"]
            "#,
        )
        .unwrap();
        assert_eq!(found.mutates("airline", "get_user"), Some(false));
        assert_eq!(found.mutates("airline", "book"), Some(true));
        assert_eq!(found.mutates("shop", "buy"), Some(true));
        assert_eq!(found.mutates("shop", "list"), None);
        assert_eq!(found.mutates("bank", "pay"), None);
        assert!(found.reads_back("airline", "update_seat", "get_reservation"));
        assert!(!found.reads_back("shop", "update_seat", "get_reservation"));
    }

    #[test]
    fn mistakes_have_a_place() {
        let wrong = |text: &str| {
            let (at, message) = declared(text).unwrap_err();
            (text[..at].matches('\n').count() + 1, message)
        };
        assert_eq!(wrong("version = 2").0, 1);
        let (line, message) = wrong("version = 1\n[[environment]]\nname = \"a\"\nread = []\n");
        assert_eq!(line, 4);
        assert!(message.contains("unknown field `read`"), "{message}");
        let (line, message) =
            wrong("version = 1\n[[environment]]\nname = \"a\"\nreads = [\"[\"]\n");
        assert_eq!(line, 4);
        assert!(message.contains('['), "{message}");
        let path = |path: &str, rule: &str| {
            format!("version = 1\n[[path]]\npath = {path}\nrule = {rule}\n")
        };
        let (line, message) = wrong(&path("\"$.a[\"", "\"ignore\""));
        assert_eq!(line, 3, "{message}");
        let (line, message) = wrong(&path("\"$.a\"", "[\"set\", \"cosmetic=2\"]"));
        assert_eq!(line, 4, "{message}");
        let text = path("\"$.a\"", "[\"set\", \"cosmetic=0.2\"]");
        assert_eq!(
            File::parse(&text)
                .and_then(|file| file.said(&text))
                .unwrap()
                .paths
                .len(),
            2
        );
    }
}
