//! A text with several SQL statements, taken apart.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// The statements of a text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// Statements that end in `;`. Each keeps its place: what stands before it
    /// is blank, so that errors name the line and column of the whole text.
    pub complete: Vec<String>,
    /// What follows the last `;`, if it is more than space and comments.
    pub rest: Option<String>,
}

impl Statements {
    /// All of them, whether or not the last one ends in `;`.
    pub fn all(self) -> impl Iterator<Item = String> {
        self.complete.into_iter().chain(self.rest)
    }
}

/// Splits at the `;` that stand outside of texts, names and comments.
#[must_use]
pub fn statements(text: &str) -> Statements {
    let mut tokens = vec![];
    // An open quote: what was read up to there counts, the rest is one piece.
    let broken = Tokenizer::new(&GenericDialect {}, text)
        .tokenize_with_location_into_buf(&mut tokens)
        .is_err();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let offset = |line: u64, column: u64| -> usize {
        let line = usize::try_from(line).unwrap_or(1).saturating_sub(1);
        let column = usize::try_from(column).unwrap_or(1).saturating_sub(1);
        let Some(&start) = starts.get(line) else {
            return text.len();
        };
        text[start..]
            .char_indices()
            .nth(column)
            .map_or(text.len(), |(at, _)| start + at)
    };
    let mut found = Statements::default();
    let mut from = 0;
    let mut words = false;
    for token in &tokens {
        match token.token {
            Token::SemiColon => {
                let at = offset(token.span.start.line, token.span.start.column);
                if std::mem::take(&mut words) {
                    found.complete.push(in_place(text, from, at));
                }
                from = at + 1;
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ => words = true,
        }
    }
    if words || broken {
        found.rest = Some(in_place(text, from, text.len()));
    }
    found
}

/// A part of a text, with blanks for everything before it.
fn in_place(text: &str, from: usize, to: usize) -> String {
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    let lines = text[..from].matches('\n').count();
    let line = text[..from].rfind('\n').map_or(0, |at| at + 1);
    let mut out = "\n".repeat(lines);
    out.extend(text[line..from].chars().map(blank));
    out.push_str(&text[from..to]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed(text: &str) -> (Vec<String>, Option<String>) {
        let found = statements(text);
        let trim = |s: String| s.trim().to_owned();
        (
            found.complete.into_iter().map(trim).collect(),
            found.rest.map(trim),
        )
    }

    #[test]
    fn only_real_ends_split() {
        let (complete, rest) = trimmed("select ';' as \";\"; -- a ; b\n/* ; */ select 2;\n");
        assert_eq!(
            complete,
            ["select ';' as \";\"", "-- a ; b\n/* ; */ select 2"]
        );
        assert_eq!(rest, None);
        assert_eq!(trimmed(" ;; -- nothing\n"), (vec![], None));
        assert_eq!(
            trimmed("select 1; select"),
            (vec!["select 1".into()], Some("select".into()))
        );
    }

    #[test]
    fn an_open_quote_is_not_complete() {
        assert_eq!(
            trimmed("select 'a;\nb"),
            (vec![], Some("select 'a;\nb".into()))
        );
        assert_eq!(trimmed("select 1; select 'a;").0, ["select 1"]);
    }

    #[test]
    fn places_stay() {
        let found = statements("select 'ü';\n\n  select x;  select y");
        let blank = " ".repeat(11);
        assert_eq!(found.complete[1], format!("{blank}\n\n  select x"));
        assert_eq!(found.rest, Some(format!("\n\n{blank}  select y")));
    }
}
