//! What was odd between two answers, kept small however much there is of it.

use super::answer::Note;

/// What writes more than this beside its answers is ended.
pub(super) const MAX_NOISE: u64 = 64 << 20;
/// More notes than this are counted, not kept.
const KEPT: usize = 16;

/// Collects until somebody takes it for a call or for the closing.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    noise_lines: u64,
    noise_bytes: u64,
    sample: Option<String>,
    notes: Vec<Note>,
    more: u64,
    progress: u64,
}

impl Oddities {
    /// A line that is none of the protocol.
    pub(super) fn noise(&mut self, line: &str) {
        self.noise_lines += 1;
        self.noise_bytes += line.len() as u64 + 1;
        if self.sample.is_none() && !line.trim().is_empty() {
            self.sample = Some(Note::new("", line).text);
        }
    }

    /// Anything else worth keeping.
    pub(super) fn note(&mut self, kind: &'static str, text: impl Into<String>) {
        if self.notes.len() < KEPT {
            self.notes.push(Note::new(kind, text));
        } else {
            self.more += 1;
        }
    }

    /// A report of progress.
    pub(super) fn progress(&mut self) {
        self.progress += 1;
    }

    /// Takes what is there; the count of noise starts again.
    pub(super) fn take(&mut self) -> Vec<Note> {
        let Self {
            noise_lines,
            noise_bytes,
            sample,
            mut notes,
            more,
            progress,
        } = std::mem::take(self);
        if noise_lines > 0 {
            let first = sample.unwrap_or_default();
            notes.push(Note::new(
                "noise_lines",
                format!("{noise_lines} lines, {noise_bytes} bytes; the first: {first}"),
            ));
        }
        if progress > 0 {
            notes.push(Note::new("progress", format!("{progress} reports")));
        }
        if more > 0 {
            notes.push(Note::new("more_notes", format!("{more} more")));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_noise_is_one_note() {
        let mut odd = Oddities::default();
        odd.noise("");
        for _ in 0..1000 {
            odd.noise("starting up");
        }
        for at in 0..20 {
            odd.note("unknown_id", format!("{at}"));
        }
        let notes = odd.take();
        assert_eq!(notes.len(), KEPT + 2);
        assert_eq!(
            notes[KEPT].text,
            "1001 lines, 12001 bytes; the first: starting up"
        );
        assert_eq!(notes[KEPT + 1].text, "4 more");
        assert!(odd.take().is_empty());
    }
}
