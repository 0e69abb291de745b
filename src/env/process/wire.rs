//! One question, one answer, whatever else comes through the pipe.

use std::collections::BTreeSet;
use std::time::Duration;

use fidelake_core::json::{Doc, Kind, Node};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep_until};

use super::super::answer::{Answer, Fault, Note};
use super::super::child::{Keeper, Line, Lines, Started, text};
use super::super::oddities::{MAX_NOISE, Oddities};
use super::super::text::names_id;
use super::super::{Snapshot, Tool};

/// A closed pipe is seen a moment before the exit.
const EXIT_GRACE: Duration = Duration::from_millis(300);

/// Why a question has no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) fault: Fault,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Unanswered {
    fn new(fault: Fault, kind: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { fault, kind, text }
    }
}

/// The two pipes of a process.
#[derive(Debug)]
pub(super) struct Wire {
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    keeper: Keeper,
    odd: Oddities,
    noise: u64,
    last_id: u64,
    given_up: BTreeSet<u64>,
    /// Why nothing can be asked any more.
    broken: Option<String>,
}

/// What a line is to the question at hand.
enum Heard {
    Answer(String),
    Unreadable(Unanswered),
    Nothing,
}

impl Wire {
    pub(super) fn new(started: Started, max_line: usize) -> Self {
        Self {
            stdin: Some(started.stdin),
            lines: Lines::new(started.stdout, max_line),
            keeper: started.keeper,
            odd: Oddities::default(),
            noise: 0,
            last_id: 0,
            given_up: BTreeSet::new(),
            broken: None,
        }
    }

    /// The number of the next question.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// What was odd since the last time.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        self.odd.take()
    }

    /// Arguments with its folder's name in place.
    pub(super) fn placed<'a>(&self, arguments: &'a str) -> std::borrow::Cow<'a, str> {
        self.keeper.placed(arguments)
    }

    /// An answer with its folder's name where the path stands.
    pub(super) fn named(&self, mut answer: Answer) -> Answer {
        self.keeper.name_folder(&mut answer);
        answer
    }

    /// The same in the declarations of tools.
    pub(super) fn name_folder_in(&self, tools: &mut [Tool]) {
        self.keeper.name_folder_in(tools);
    }

    /// What its folder holds, if it has one of its own.
    pub(super) fn files(&self) -> Result<Option<Snapshot>, String> {
        self.keeper.files()
    }

    /// The end of stderr, for messages.
    pub(super) fn stderr(&self) -> String {
        self.keeper.stderr()
    }

    /// Writes the line with this id and waits for the answer to it.
    pub(super) async fn ask(
        &mut self,
        id: u64,
        mut line: String,
        patience: Duration,
    ) -> Result<String, Unanswered> {
        if let Some(why) = &self.broken {
            return Err(Unanswered::new(Fault::NotSent, "session_ended", why));
        }
        // Until it is answered. A caller that drops this future gives it up as well.
        self.given_up.insert(id);
        line.push('\n');
        let deadline = Instant::now() + patience;
        let mut written = 0;
        let mut unreadable = None;
        loop {
            let left = &line.as_bytes()[written..];
            let Some(stdin) = self.stdin.as_mut() else {
                return Err(Unanswered::new(Fault::NotSent, "session_ended", "closed"));
            };
            // A process may write before it has read us to the end: both ways at once.
            tokio::select! {
                biased;
                sent = stdin.write(left), if !left.is_empty() => match sent {
                    Ok(bytes) if bytes > 0 => {
                        written += bytes;
                        // Half a line in the pipe spoils the next, however this future ends.
                        let half = written < line.len();
                        self.broken = half.then(|| "a message was cut off half written".to_owned());
                    }
                    _ => return Err(self.ended(written > 0).await),
                },
                heard = self.lines.next() => {
                    if heard == Line::End {
                        return Err(self.ended(written > 0).await);
                    }
                    match self.hear(id, heard) {
                        Heard::Answer(text) => {
                            self.given_up.remove(&id);
                            return Ok(text);
                        }
                        Heard::Unreadable(why) => unreadable = Some(why),
                        Heard::Nothing => {}
                    }
                    if self.noise > MAX_NOISE {
                        let why = format!("more than {MAX_NOISE} bytes that are no answers");
                        self.broken = Some(format!("ended after a flood: {why}"));
                        self.stdin = None;
                        return Err(Unanswered::new(Fault::Lost, "flood", why));
                    }
                }
                () = sleep_until(deadline) => {
                    if let Some(why) = unreadable {
                        return Err(why);
                    }
                    let said = format!("no answer within {} s", patience.as_secs_f64());
                    let fault = if written == 0 { Fault::NotSent } else { Fault::Late };
                    return Err(Unanswered::new(fault, "no_answer", said));
                }
            }
            // What names this question and cannot be read is its answer: waiting on would find no other.
            if unreadable
                .as_ref()
                .is_some_and(|why| why.kind != "invalid_json")
            {
                return unreadable.map_or_else(|| Ok(String::new()), Err);
            }
        }
    }

    fn hear(&mut self, id: u64, line: Line) -> Heard {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong { head, bytes } => {
                let said = format!("a line of {bytes} bytes: {}", text(head));
                self.noise += bytes;
                return Heard::Unreadable(Unanswered::new(Fault::Malformed, "line_too_long", said));
            }
            Line::End => return Heard::Nothing,
        };
        let text = text(bytes);
        let doc = match Doc::parse(&text) {
            Ok(doc) if doc.root().kind() == Kind::Object => doc,
            Err(error) if text.trim_start().starts_with('{') => {
                let kind = if names_id(&text, id) {
                    "broken_answer"
                } else {
                    "invalid_json"
                };
                self.noise += text.len() as u64;
                let said = format!("{error}: {text}");
                if kind == "invalid_json" {
                    self.odd.note(kind, said.as_str());
                }
                return Heard::Unreadable(Unanswered::new(Fault::Malformed, kind, said));
            }
            _ => {
                self.noise += text.len() as u64 + 1;
                self.odd.noise(&text);
                return Heard::Nothing;
            }
        };
        let given = doc.root().get("id").and_then(Node::as_i64);
        match given.and_then(|given| u64::try_from(given).ok()) {
            Some(given) if given == id => return Heard::Answer(text),
            Some(given) if self.given_up.remove(&given) => self.odd.note("late_answer", text),
            Some(_) => self.odd.note("unknown_id", text),
            None => {
                self.noise += text.len() as u64 + 1;
                self.odd.noise(&text);
            }
        }
        Heard::Nothing
    }

    /// The other side is gone.
    async fn ended(&mut self, sent: bool) -> Unanswered {
        self.stdin = None;
        let exit = self.keeper.exit(EXIT_GRACE).await;
        let (kind, said) = match exit {
            Some(status) => ("exit_status", status),
            None => ("closed", "it closed its stdout".to_owned()),
        };
        self.broken = Some(format!("the process has ended: {said}"));
        let fault = if sent { Fault::Lost } else { Fault::NotSent };
        Unanswered::new(fault, kind, said)
    }

    /// Says goodbye and ends everything.
    pub(super) async fn close(mut self, goodbye: String, grace: Duration) -> Vec<Note> {
        if let Some(mut stdin) = self.stdin.take() {
            let goodbye = format!("{goodbye}\n");
            let write = stdin.write_all(goodbye.as_bytes());
            // A full pipe of a process that does not read is no reason to wait.
            let _ = tokio::time::timeout(grace, write).await;
        }
        let Self {
            mut lines,
            keeper,
            mut odd,
            given_up,
            ..
        } = self;
        // What it still says is read, so that it can end; answers that came too late are told.
        let rest = async {
            loop {
                match lines.next().await {
                    Line::End => break,
                    Line::Whole(line) => last_words(&text(line), &given_up, &mut odd),
                    Line::TooLong { bytes, .. } => odd.note("line_too_long", bytes.to_string()),
                }
            }
        };
        let (mut ending, _) = tokio::join!(keeper.end(grace), tokio::time::timeout(grace, rest));
        let mut notes = odd.take();
        notes.append(&mut ending);
        notes
    }
}

fn last_words(line: &str, given_up: &BTreeSet<u64>, odd: &mut Oddities) {
    let doc = Doc::parse(line).ok();
    let id = doc
        .as_ref()
        .and_then(|doc| u64::try_from(doc.root().get("id")?.as_i64()?).ok());
    match id {
        Some(id) if given_up.contains(&id) => odd.note("late_answer", line),
        // The answer to the goodbye.
        Some(_) => {}
        None => odd.noise(line),
    }
}
