//! What a terminal can show, and texts made safe for it.
//!
//! Payloads come from tools that nobody vouches for. Printed as they stand, an
//! escape sequence in one of them could clear the screen, forge lines or set
//! the window's title; so nothing reaches a terminal before [`safe`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Width where there is no terminal to ask.
const PLAIN_WIDTH: usize = 100;

/// Below this nothing can be laid out.
const NARROWEST: usize = 40;

/// What standard output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns of one line.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
}

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// What the eye must find.
    Alarm,
    /// Only the left side has it.
    Missing,
    /// Only the right side has it.
    Extra,
    /// Another value or type.
    Value,
    /// Another order.
    Order,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Alarm => "1;31",
            Self::Missing => "31",
            Self::Extra => "32",
            Self::Value => "33",
            Self::Order => "36",
        }
    }
}

impl Screen {
    /// Asks the environment: `NO_COLOR` (any text but the empty one) forbids
    /// colours, `COLUMNS` sets the width; else the terminal says it.
    #[must_use]
    pub fn of_stdout() -> Self {
        let terminal = io::stdout().is_terminal();
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let columns = std::env::var("COLUMNS")
            .ok()
            .and_then(|v| v.trim().parse().ok());
        let width = columns
            .filter(|&columns| columns > 0)
            .or_else(|| terminal.then(ask_terminal).flatten())
            .unwrap_or(PLAIN_WIDTH);
        Self {
            width: width.max(NARROWEST),
            colour: terminal && !forbidden && !dumb,
        }
    }

    /// A text in a colour, if colours may be used.
    #[must_use]
    pub fn ink<'t>(&self, ink: Ink, text: &'t str) -> Cow<'t, str> {
        if !self.colour || text.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\x1b[{}m{text}\x1b[0m", ink.code()))
    }
}

/// The terminal's own word on its width.
fn ask_terminal() -> Option<usize> {
    let mut editor = rustyline::DefaultEditor::new().ok()?;
    editor
        .dimensions()
        .map(|(columns, _)| usize::from(columns))
        .filter(|&columns| columns > 0)
}

/// Whether a terminal might act on this character instead of showing it, or
/// show the text around it in another order than it stands.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}' | '\u{2029}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every character that a terminal might act on spelled out.
#[must_use]
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if acts(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// As [`safe`], but line breaks stay: for texts that stand as lines of their own.
#[must_use]
pub fn safe_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && acts(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(safe).collect::<Vec<_>>().join("\n"))
}

/// The text, made safe and cut to so many columns; a cut ends in `…`.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    // No more is looked at than can be shown: payloads may be long.
    let most = text
        .char_indices()
        .nth(width.saturating_mul(4) + 1)
        .map_or(text.len(), |(at, _)| at);
    let cut = most < text.len();
    let text = safe(&text[..most]);
    if !cut && text.width() <= width {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// As [`fit`], filled up with spaces.
#[must_use]
pub fn padded(text: &str, width: usize) -> String {
    let mut out = fit(text, width);
    let used = out.width();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    out
}

/// Lines of whole words, none wider than `width` unless one word is.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_passes() {
        assert_eq!(safe("a\x1b[2Jb\r\n"), "a\\u{1b}[2Jb\\r\\n");
        assert_eq!(
            safe("\u{9b}31m\u{202e}x\u{7f}"),
            "\\u{9b}31m\\u{202e}x\\u{7f}"
        );
        assert!(matches!(safe("plain, ü, 日本"), Cow::Borrowed(_)));
        assert_eq!(safe_lines("a\nb\x07"), "a\nb\\u{7}");
    }

    #[test]
    fn widths_are_columns_not_bytes() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(padded("é", 3), "é  ");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(fit(&"x".repeat(1 << 20), 4), "xxx…");
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrapped("a bc  def\ng", 4), ["a bc", "def", "g"]);
        assert!(wrapped(" ", 4).is_empty());
    }

    #[test]
    fn no_colour_no_codes() {
        let plain = Screen {
            width: 80,
            colour: false,
        };
        assert_eq!(plain.ink(Ink::Alarm, "x"), "x");
        let coloured = Screen {
            width: 80,
            colour: true,
        };
        assert_eq!(coloured.ink(Ink::Missing, "x"), "\x1b[31mx\x1b[0m");
    }
}
