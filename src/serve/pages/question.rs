//! The questions behind the pages: SQL files of `queries/`, by name. Only these are ever run;
//! what a request says goes in as parameters and never becomes part of a text that is run.

use datafusion::common::ScalarValue;

use crate::engine::columns::quoted;
use crate::report::NAMED;

/// A query that comes with the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    /// Its name: that of its file, without `.sql`.
    pub(super) name: &'static str,
    /// Its text, comments included.
    pub(super) sql: &'static str,
    /// The names of its parameters; all are texts, null takes all.
    pub(super) parameters: &'static [&'static str],
}

macro_rules! questions {
    ($($constant:ident = $name:literal in $folder:literal ($($parameter:literal),*);)*) => {
        $(pub(super) const $constant: Question = Question {
            name: $name,
            sql: include_str!(concat!("../../../queries/", $folder, $name, ".sql")),
            parameters: &[$($parameter),*],
        };)*
        const PAGES: &[Question] = &[$($constant),*];
    };
}

questions! {
    ENVIRONMENTS = "environments" in "pages/" ();
    OVER_TIME = "over_time" in "pages/" ();
    SPREAD = "spread" in "pages/" ();
    HEAT = "heat" in "pages/" ("environment");
    CALLS = "calls" in "pages/" ("environment", "api", "outcome", "cause");
    EXAMPLES = "examples" in "pages/" ("environment", "api");
    PATTERN_CALLS = "pattern_calls" in "pages/" ("id");
    BOUGHT = "bought" in "pages/" ();
    COVERAGE = "coverage" in "pages/" ();
    PATTERNS = "patterns" in "pages/" ();
}

/// Values of parameters, in the order of [`Question::parameters`].
pub(super) type Values = Vec<Option<String>>;

impl Question {
    /// All of them: those of the pages, and the analysts' own.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let analysts = NAMED.iter().map(|named| Self {
            name: named.name,
            sql: named.sql,
            parameters: &[],
        });
        PAGES.iter().copied().chain(analysts)
    }

    /// By name.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::all().find(|question| question.name == name)
    }

    /// Whether `fidelake sql --named` knows it.
    pub(super) fn is_named(&self) -> bool {
        NAMED.iter().any(|named| named.name == self.name)
    }

    /// What it answers: the first line of its comment.
    pub(super) fn answers(&self) -> &'static str {
        let first = self.sql.lines().next().unwrap_or_default();
        first.trim_start_matches("--").trim()
    }

    /// The values as the engine takes them.
    pub(super) fn bound(&self, values: &[Option<String>]) -> Vec<(&'static str, ScalarValue)> {
        let value = |at: usize| ScalarValue::Utf8(values.get(at).cloned().flatten());
        let names = self.parameters.iter().enumerate();
        names.map(|(at, name)| (*name, value(at))).collect()
    }

    /// The text with the values in the places of the parameters, for people who take it
    /// elsewhere. It is shown, never run.
    pub(super) fn spelled(&self, values: &[Option<String>]) -> String {
        let mut out = String::with_capacity(self.sql.len());
        let mut rest = self.sql;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, left) = after.split_at(end.unwrap_or(after.len()));
            match self.parameters.iter().position(|known| *known == name) {
                Some(at) => match values.get(at).and_then(Option::as_ref) {
                    Some(value) => out.push_str(&quoted(value)),
                    None => out.push_str("NULL"),
                },
                None => {
                    out.push('$');
                    out.push_str(name);
                }
            }
            rest = left;
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_question_says_what_it_answers() {
        let mut names: Vec<&str> = Question::all().map(|question| question.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        for question in Question::all() {
            assert!(
                question.answers().ends_with(['.', ':', ',']),
                "{question:?}"
            );
            for name in question.parameters {
                assert!(question.sql.contains(&format!("${name}")), "{name}");
            }
        }
    }

    #[test]
    fn values_stand_as_texts_whatever_they_hold() {
        let text = HEAT.spelled(&[Some("a' OR 'x".into())]);
        assert!(text.contains("environment = 'a'' OR ''x'"), "{text}");
        assert!(HEAT.spelled(&[None]).contains("CAST(NULL AS VARCHAR)"));
        assert!(!CALLS.spelled(&vec![None; 4]).contains('$'));
    }
}
