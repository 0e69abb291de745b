//! Lines that fit a screen. Everything from the lake passes [`fit`], which
//! spells out what a terminal might act on.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use super::super::screen::{Ink, Screen, fit, padded, wrapped};

/// Room before a line of a call.
const INDENT: usize = 5;

/// Room for the kind of a line.
const KIND: usize = 10;

/// Paths are cut to a third of a line, but not below this.
const PATH: usize = 12;

/// What was drawn so far.
pub(super) struct Canvas<'s> {
    screen: &'s Screen,
    out: String,
}

impl<'s> Canvas<'s> {
    pub(super) fn new(screen: &'s Screen) -> Self {
        Self {
            screen,
            out: String::new(),
        }
    }

    /// What was drawn, without empty lines at its end.
    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    pub(super) fn space(&mut self) {
        self.out.push('\n');
    }

    /// A line from the left edge.
    pub(super) fn line(&mut self, ink: Ink, text: &str) {
        let text = fit(text, self.screen.width);
        let _ = writeln!(self.out, "{}", self.screen.ink(ink, &text));
    }

    /// A sentence that must be read to its end.
    pub(super) fn sentence(&mut self, ink: Ink, text: &str) {
        for line in wrapped(text, self.screen.width) {
            self.line(ink, &line);
        }
    }

    /// The head of a call, and a mark that is never cut off.
    pub(super) fn head(&mut self, text: &str, mark: &str) {
        let text = fit(text, self.screen.width.saturating_sub(mark.len()));
        let _ = writeln!(
            self.out,
            "{}{}",
            self.screen.ink(Ink::Bold, &text),
            self.screen.ink(Ink::Alarm, mark)
        );
    }

    /// What, and one text.
    pub(super) fn field(&mut self, kind: &str, ink: Ink, text: &str) {
        let text = fit(text, self.room());
        let _ = writeln!(
            self.out,
            "{:INDENT$}{}{}",
            "",
            padded(kind, KIND),
            self.screen.ink(ink, &text)
        );
    }

    /// The width for these paths in [`Self::versus`].
    pub(super) fn path_width<'p>(&self, paths: impl Iterator<Item = &'p str>) -> usize {
        let most = (self.room() / 3).max(PATH);
        paths.map(|path| fit(path, most).width()).max().unwrap_or(0)
    }

    /// What, where if anywhere, and the two sides: beside each other where they
    /// fit, else each on a line of its own.
    pub(super) fn versus(&mut self, kind: &str, ink: Ink, at: (&str, usize), sides: [&str; 2]) {
        let room = self.room();
        let (path, width) = at;
        let gap = usize::from(width > 0) * 2;
        let side = room.saturating_sub(width + gap + 3) / 2;
        let kind = self.screen.ink(ink, &padded(kind, KIND)).into_owned();
        let fits = |text: &str| text.len() <= side * 4 && fit(text, usize::MAX / 8).width() <= side;
        if sides.iter().all(|text| fits(text)) {
            let line = format!("{} | {}", padded(sides[0], side), fit(sides[1], side));
            let line = self.screen.ink(ink, line.trim_end()).into_owned();
            let path = padded(path, width);
            let _ = writeln!(self.out, "{:INDENT$}{kind}{path}{:gap$}{line}", "", "");
            return;
        }
        let cut = from_difference(sides, room);
        let sides = cut.each_ref().map(String::as_str);
        let path = fit(path, room);
        let kind = if path.is_empty() {
            kind.trim_end()
        } else {
            &kind
        };
        let _ = writeln!(self.out, "{:INDENT$}{kind}{path}", "");
        for (arm, text) in ["  sim", "  real"].into_iter().zip(sides) {
            self.field(arm, ink, text);
        }
    }

    fn room(&self) -> usize {
        self.screen.width.saturating_sub(INDENT + KIND)
    }
}

/// Long texts that begin alike: both from a little before their first difference,
/// because what is cut off at the end may be all that differs.
fn from_difference(sides: [&str; 2], room: usize) -> [String; 2] {
    const BEFORE: usize = 12;

    let alike = sides[0]
        .chars()
        .zip(sides[1].chars())
        .take_while(|(a, b)| a == b)
        .count();
    if alike + BEFORE < room {
        return sides.map(str::to_owned);
    }
    sides.map(|text| {
        let rest: String = text.chars().skip(alike - BEFORE).collect();
        format!("\u{2026}{rest}")
    })
}
