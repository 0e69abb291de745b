//! Completion of names, and when a text is a whole statement.

use std::collections::{BTreeMap, BTreeSet};

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::report::statements;

const KEYWORDS: &[&str] = &[
    "SELECT",
    "DISTINCT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS NULL",
    "IS NOT NULL",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "LIKE",
    "ILIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "CROSS JOIN",
    "ON",
    "USING",
    "UNION ALL",
    "EXCEPT",
    "INTERSECT",
    "WITH",
    "EXISTS",
    "ASC",
    "DESC",
    "NULLS FIRST",
    "NULLS LAST",
    "OVER",
    "PARTITION BY",
    "FILTER",
    "CAST",
    "EXPLAIN",
    "EXPLAIN ANALYZE",
    "SHOW TABLES",
    "DESCRIBE",
    "VALUES",
];

/// Names that can stand in a statement.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    tables: BTreeMap<String, Vec<String>>,
    columns: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Vocabulary {
    pub(super) fn column(&mut self, table: String, column: String) {
        self.columns.insert(column.clone());
        self.tables.entry(table).or_default().push(column);
    }

    pub(super) fn function(&mut self, name: String) {
        self.functions.insert(name);
    }

    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let start = word_start(before);
        let word = before[start..].to_lowercase();
        let head = &before[..start];
        let named = |name: &&String| name.starts_with(&word);
        if let Some(command) = before.strip_prefix("\\d ") {
            let command = command.trim_start();
            let names = self.tables.keys().filter(|t| t.starts_with(command));
            return (before.len() - command.len(), names.cloned().collect());
        }
        if let Some(head) = head.strip_suffix('.') {
            let table = head[word_start(head)..].to_lowercase();
            // An alias: any column may be meant.
            let of_table = self
                .tables
                .get(&table)
                .map(|c| c.iter().filter(named).cloned().collect());
            return (
                start,
                of_table.unwrap_or_else(|| self.columns.iter().filter(named).cloned().collect()),
            );
        }
        if word.is_empty() {
            let after = head.trim_end().to_lowercase();
            let wants_table = after.ends_with(" from") || after.ends_with("join");
            return (
                start,
                if wants_table {
                    self.tables.keys().cloned().collect()
                } else {
                    vec![]
                },
            );
        }
        let mut found: Vec<String> = self.tables.keys().filter(named).cloned().collect();
        found.extend(self.columns.iter().filter(named).cloned());
        found.extend(
            self.functions
                .iter()
                .filter(named)
                .map(|name| format!("{name}(")),
        );
        found.extend(
            KEYWORDS
                .iter()
                .filter(|k| k.to_lowercase().starts_with(&word))
                .map(|k| (*k).to_owned()),
        );
        (start, found)
    }
}

fn word_start(text: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.char_indices()
        .rev()
        .take_while(|&(_, c)| part(c))
        .last()
        .map_or(text.len(), |(at, _)| at)
}

/// What the line editor asks.
#[derive(Debug)]
pub(super) struct SqlHelper {
    vocabulary: Vocabulary,
}

impl SqlHelper {
    pub(super) fn new(vocabulary: Vocabulary) -> Self {
        Self { vocabulary }
    }
}

impl Completer for SqlHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.vocabulary.candidates(&line[..pos]))
    }
}

impl Validator for SqlHelper {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_whole(ctx.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

/// Commands end with their line, statements with a `;`.
fn is_whole(text: &str) -> bool {
    text.trim_start().starts_with('\\') || statements(text).rest.is_none()
}

impl Highlighter for SqlHelper {}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Helper for SqlHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let mut v = Vocabulary::default();
        for (table, column) in [
            ("calls", "name"),
            ("calls", "call_key"),
            ("runs", "run_id"),
            ("runs", "repeat"),
        ] {
            v.column(table.into(), column.into());
        }
        v.function("call_key".into());
        v
    }

    #[test]
    fn names_are_completed_where_they_fit() {
        let v = vocabulary();
        assert_eq!(
            v.candidates("select ca"),
            (
                7,
                vec![
                    "calls".into(),
                    "call_key".into(),
                    "call_key(".into(),
                    "CASE".into(),
                    "CAST".into()
                ]
            )
        );
        assert_eq!(v.candidates("select calls.n"), (13, vec!["name".into()]));
        assert_eq!(v.candidates("select r.re"), (9, vec!["repeat".into()]));
        assert_eq!(
            v.candidates("select * from "),
            (14, vec!["calls".into(), "runs".into()])
        );
        assert_eq!(v.candidates("\\d ru"), (3, vec!["runs".into()]));
        assert_eq!(v.candidates("wher"), (0, vec!["WHERE".into()]));
        assert_eq!(v.candidates(""), (0, vec![]));
    }

    #[test]
    fn a_statement_goes_on_until_its_end() {
        assert!(is_whole("select 1;"));
        assert!(is_whole("\\d calls"));
        assert!(is_whole("  "));
        assert!(!is_whole("select 1"));
        assert!(!is_whole("select ';"));
        assert!(!is_whole("select 1; select"));
    }
}
