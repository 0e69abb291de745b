//! What real answers teach of answers that the real arm never gave.
//!
//! Three things, each only where every real answer agrees and at least three
//! different ones do: a field that repeats an argument; a read that answers as the
//! write before it did; an answer of the simulator in whose place the real arm
//! refuses. They change what only the simulator has answered. Beside them stand the
//! templates for calls that nobody answered. What they make is `generated`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, canonical};
use fidelake_core::mend::{AGREE, Echo, Leaf, Template, echoes, induce, leaves, patched, within};

use super::stored::{Stored, said, saying};

/// So many answers of a tool are looked at.
const MOST: usize = 5_000;

/// A recorded call, as far as something is learned from it.
#[derive(Clone, Debug)]
pub(super) struct Lesson {
    /// Calls of one run stand next to each other, in order.
    pub(super) run: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) arguments: Arc<str>,
    pub(super) key: Key,
    pub(super) history: Key,
    pub(super) changes: bool,
    pub(super) real: bool,
    pub(super) answer: Arc<Stored>,
}

/// In whose place the real arm refuses.
#[derive(Clone, Debug)]
struct Refusal {
    /// Of the arguments: a call that lacks one, or has one too many, is refused for that.
    names: BTreeSet<String>,
    sim: Template,
    real: Template,
    like: Arc<Stored>,
}

/// A template for answers of one outcome, with one of them.
#[derive(Clone, Debug)]
struct Kind {
    template: Template,
    support: usize,
    like: Arc<Stored>,
}

/// A state-changing call of an episode.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) name: String,
    pub(super) key: Key,
    /// Its place among the calls of the episode.
    pub(super) position: usize,
    /// The history before it.
    pub(super) before: Key,
    pub(super) names: Vec<Leaf>,
    /// What it was answered; `None` if it did not go well.
    pub(super) content: Option<String>,
}

/// Everything that was learned.
#[derive(Debug, Default)]
pub(super) struct Mends {
    echoes: HashMap<Arc<str>, Vec<Echo>>,
    /// Reads with the writes after which they answer as those did.
    as_written: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    refusals: HashMap<Arc<str>, Vec<Refusal>>,
    templates: HashMap<Arc<str>, Vec<Kind>>,
}

/// How much was learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Learned {
    /// Fields that repeat an argument.
    pub echoes: usize,
    /// Pairs of a read and a write after which it answers as that did.
    pub reads_as_written: usize,
    /// Answers of the simulator in whose place the real arm refuses.
    pub refusals: usize,
    /// Templates for calls that nobody answered.
    pub templates: usize,
}

/// A made answer: what it says, like whose it is, and why.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) content: String,
    /// The answer whose flags hold.
    pub(super) like: Arc<Stored>,
    pub(super) why: String,
}

impl Mends {
    pub(super) fn learn(lessons: &[Lesson]) -> Self {
        Self {
            echoes: repeated(lessons),
            as_written: as_written(lessons),
            refusals: refusals(lessons),
            templates: templates(lessons),
        }
    }

    pub(super) fn learned(&self) -> Learned {
        Learned {
            echoes: self.echoes.values().map(Vec::len).sum(),
            reads_as_written: self.as_written.values().map(BTreeSet::len).sum(),
            refusals: self.refusals.values().map(Vec::len).sum(),
            templates: self.templates.values().map(Vec::len).sum(),
        }
    }

    /// What the real arm would have said where only the simulator's answer is known;
    /// `None` if nothing is known against that. `writes` are the episode's, in order.
    pub(super) fn mend(
        &self,
        name: &str,
        arguments: &str,
        asked: &[Leaf],
        base: &Arc<Stored>,
        writes: &[Write],
    ) -> Option<Made> {
        let content = base.content.as_deref()?;
        let text = said(content)?;
        let refusals = self.refusals.get(name).map(Vec::as_slice);
        for refusal in refusals.unwrap_or_default() {
            if refusal.names == names(asked)
                && Template::of(&text, asked).as_ref() == Some(&refusal.sim)
                && let Some(text) = refusal.real.fill(asked)
            {
                return Some(Made {
                    content: saying(content, &text)?,
                    like: Arc::clone(&refusal.like),
                    why: "the real arm refuses where the simulator says this".into(),
                });
            }
        }
        if let Some(made) = self.as_written(name, asked, base, writes) {
            return (said(&made.content).as_deref() != Some(&*text)).then_some(made);
        }
        let echoes = self.echoes.get(name)?;
        if !base.is_ok() {
            return None;
        }
        let text = patched(&text, arguments, echoes)?;
        Some(Made {
            content: saying(content, &text)?,
            like: Arc::clone(base),
            why: "fields that repeat an argument were set to it".into(),
        })
    }

    /// The answer of the last write that named what the read names.
    fn as_written(
        &self,
        name: &str,
        asked: &[Leaf],
        base: &Arc<Stored>,
        writes: &[Write],
    ) -> Option<Made> {
        let after = self.as_written.get(name)?;
        let well = |write: &&Write| write.content.is_some() && within(asked, &write.names);
        let last = writes.iter().rev().find(well)?;
        let content = last.content.clone()?;
        after.contains(&*last.name).then(|| Made {
            content,
            like: Arc::clone(base),
            why: format!("reads answer as {} before them did", last.name),
        })
    }

    /// An answer for a call that nobody answered: as the write before it, else by the
    /// template with the most support.
    pub(super) fn template(&self, name: &str, asked: &[Leaf], writes: &[Write]) -> Option<Made> {
        let kinds = self.templates.get(name).map(Vec::as_slice);
        let ok = kinds
            .unwrap_or_default()
            .iter()
            .find(|kind| kind.like.is_ok())
            .map_or_else(Arc::default, |kind| Arc::clone(&kind.like));
        if let Some(made) = self.as_written(name, asked, &ok, writes) {
            return Some(made);
        }
        kinds?.iter().find_map(|kind| {
            let text = kind.template.fill(asked)?;
            Some(Made {
                content: saying(kind.like.content.as_deref()?, &text)?,
                like: Arc::clone(&kind.like),
                why: format!(
                    "a template that {} real answers ({}) share",
                    kind.support, kind.like.outcome
                ),
            })
        })
    }
}

/// The real answers by tool, at most so many of each.
fn real_by_tool(lessons: &[Lesson]) -> BTreeMap<Arc<str>, Vec<(&Lesson, String)>> {
    let mut found: BTreeMap<Arc<str>, Vec<(&Lesson, String)>> = BTreeMap::new();
    for lesson in lessons.iter().filter(|lesson| lesson.real) {
        let answers = found.entry(Arc::clone(&lesson.name)).or_default();
        let text = lesson.answer.content.as_deref().and_then(said);
        if let Some(text) = text.filter(|_| answers.len() < MOST) {
            answers.push((lesson, text));
        }
    }
    found
}

fn repeated(lessons: &[Lesson]) -> HashMap<Arc<str>, Vec<Echo>> {
    let by_tool = real_by_tool(lessons).into_iter();
    by_tool
        .filter_map(|(name, answers)| {
            let well = answers.iter().filter(|(lesson, _)| lesson.answer.is_ok());
            let examples: Vec<(&str, &str)> = well
                .map(|(lesson, text)| (&*lesson.arguments, &**text))
                .collect();
            let mut found = echoes(&examples, AGREE);
            // The last element of a list that grew stands elsewhere in a longer one.
            found.retain(|echo| positions(&echo.field).eq(positions(&echo.argument)));
            (!found.is_empty()).then_some((name, found))
        })
        .collect()
}

/// The places in lists that a path goes through.
fn positions(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| part.parse::<usize>().is_ok())
}

fn as_written(lessons: &[Lesson]) -> HashMap<Arc<str>, BTreeSet<Arc<str>>> {
    #[derive(Default)]
    struct Seen<'l> {
        agree: BTreeSet<&'l str>,
        other: bool,
    }
    let form = |lesson: &Lesson| {
        let text = said(lesson.answer.content.as_deref()?)?;
        Some(match Doc::parse(&text) {
            Ok(doc) => canonical(doc.root()).0,
            Err(_) => text,
        })
    };
    let mut pairs: BTreeMap<(&Arc<str>, &Arc<str>), Seen<'_>> = BTreeMap::new();
    let runs = lessons.chunk_by(|a, b| a.run == b.run);
    for run in runs.filter(|run| run[0].real) {
        let mut writes: Vec<(&Lesson, Vec<Leaf>)> = Vec::new();
        for lesson in run.iter().filter(|lesson| lesson.answer.is_ok()) {
            let names = leaves(&lesson.arguments);
            if lesson.changes {
                writes.push((lesson, names));
                continue;
            }
            let last = writes.iter().rev().find(|(_, of)| within(&names, of));
            if let Some((write, _)) = last {
                let seen = pairs.entry((&lesson.name, &write.name)).or_default();
                if form(lesson).is_some() && form(lesson) == form(write) {
                    seen.agree.insert(&lesson.arguments);
                } else {
                    seen.other = true;
                }
            }
        }
    }
    let mut found: HashMap<Arc<str>, BTreeSet<Arc<str>>> = HashMap::new();
    for ((read, write), seen) in pairs {
        if !seen.other && seen.agree.len() >= AGREE {
            let writes = found.entry(Arc::clone(read)).or_default();
            writes.insert(Arc::clone(write));
        }
    }
    found
}

/// The names of the arguments with a value.
fn names(asked: &[Leaf]) -> BTreeSet<String> {
    let first = |leaf: &Leaf| leaf.path.split('/').nth(1).unwrap_or_default().to_owned();
    asked.iter().map(first).collect()
}

fn refusals(lessons: &[Lesson]) -> HashMap<Arc<str>, Vec<Refusal>> {
    let mut real: HashMap<(Key, Key), &Lesson> = HashMap::new();
    for lesson in lessons.iter().filter(|lesson| lesson.real) {
        real.entry((lesson.key, lesson.history)).or_insert(lesson);
    }
    // By tool, names of arguments and what the simulator says: the real answers to the same calls.
    type Filled<'a> = Vec<(&'a Lesson, String)>;
    let mut groups: BTreeMap<(&Arc<str>, BTreeSet<String>, Template), Filled<'_>> = BTreeMap::new();
    for lesson in lessons.iter().filter(|lesson| !lesson.real) {
        let Some(other) = real.get(&(lesson.key, lesson.history)) else {
            continue;
        };
        let text = |of: &Lesson| said(of.answer.content.as_deref()?);
        if let (Some(sim), Some(real)) = (text(lesson), text(other))
            && let asked = leaves(&lesson.arguments)
            && let Some(template) = Template::of(&sim, &asked)
        {
            let group = groups.entry((&lesson.name, names(&asked), template));
            let group = group.or_default();
            group.push((other, real));
        }
    }
    let mut found: HashMap<Arc<str>, Vec<Refusal>> = HashMap::new();
    for ((name, names, sim), answers) in groups {
        let refuses = |of: &&(&Lesson, String)| !of.0.answer.is_ok() && !of.0.answer.is_transient();
        if !answers.iter().all(|of| refuses(&of)) {
            continue;
        }
        let texts = answers.iter().map(|(of, text)| (&*of.arguments, &**text));
        let Some(best) = induce(texts, AGREE).into_iter().next() else {
            continue;
        };
        let like = answers.iter().find(|(of, text)| {
            Template::of(text, &leaves(&of.arguments)).as_ref() == Some(&best.template)
        });
        if let Some((like, _)) = like
            && best.template != sim
        {
            found.entry(Arc::clone(name)).or_default().push(Refusal {
                names,
                sim,
                real: best.template,
                like: Arc::clone(&like.answer),
            });
        }
    }
    found
}

fn templates(lessons: &[Lesson]) -> HashMap<Arc<str>, Vec<Kind>> {
    let mut found = HashMap::new();
    for (name, answers) in real_by_tool(lessons) {
        let lasting = answers
            .iter()
            .filter(|(lesson, _)| !lesson.answer.is_transient());
        let mut by_outcome: BTreeMap<&str, Vec<&(&Lesson, String)>> = BTreeMap::new();
        for one in lasting {
            by_outcome
                .entry(&one.0.answer.outcome)
                .or_default()
                .push(one);
        }
        let mut kinds: Vec<Kind> = Vec::new();
        for answers in by_outcome.values() {
            let texts = answers.iter().map(|(of, text)| (&*of.arguments, &**text));
            for induced in induce(texts, AGREE) {
                let like = answers.iter().find(|(of, text)| {
                    Template::of(text, &leaves(&of.arguments)).as_ref() == Some(&induced.template)
                });
                if let Some((like, _)) = like {
                    kinds.push(Kind {
                        template: induced.template,
                        support: induced.support,
                        like: Arc::clone(&like.answer),
                    });
                }
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.support));
        if !kinds.is_empty() {
            found.insert(name, kinds);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(run: &str, real: bool, name: &str, arguments: &str, answer: &str) -> Lesson {
        let outcome = if answer.starts_with("Error") {
            "not_found"
        } else {
            "ok"
        };
        let mut content = String::new();
        fidelake_core::json::push_json_string(answer, &mut content);
        Lesson {
            run: run.into(),
            name: name.into(),
            arguments: arguments.into(),
            key: Key::of(format!("{name}{arguments}").as_bytes()),
            history: Key::of(b"fresh"),
            changes: name == "set",
            real,
            answer: Arc::new(Stored {
                content: Some(content),
                outcome: outcome.into(),
                ..Stored::default()
            }),
        }
    }

    /// Three trajectories: a stale read, an old value after an update, a masked error.
    fn lessons() -> Vec<Lesson> {
        let mut all = Vec::new();
        for (run, cabin) in [("R10", "eco"), ("R20", "biz"), ("R30", "eco")] {
            let read = format!("{{\"id\":\"{run}\"}}");
            let write = format!("{{\"cabin\":\"{cabin}\",\"id\":\"{run}\"}}");
            let now = format!("{{\"id\": \"{run}\", \"cabin\": \"{cabin}\", \"p\": 1.10}}");
            let old = now.replace(cabin, "old");
            let gone = format!("{{\"id\":\"X{run}\"}}");
            let missing = format!("Error: X{run} not found");
            let sim = [
                ("set", &write, &old),
                ("get", &read, &old),
                ("get", &gone, &"{}".to_owned()),
            ];
            let real = [
                ("set", &write, &now),
                ("get", &read, &now),
                ("get", &gone, &missing),
            ];
            for (arm, calls) in [(false, sim), (true, real)] {
                let calls = calls.into_iter();
                let run = format!("{run}{arm}");
                all.extend(calls.map(|(name, asked, said)| lesson(&run, arm, name, asked, said)));
            }
        }
        all
    }

    #[test]
    fn what_three_agree_on_is_carried_over() {
        let mends = Mends::learn(&lessons());
        let learned = mends.learned();
        assert_eq!(
            (learned.reads_as_written, learned.refusals),
            (1, 1),
            "{learned:?}"
        );
        let stored = |text: &str| lesson("x", false, "get", "{}", text).answer;
        let write = r#"{"cabin":"biz","id":"R77"}"#;
        let old = r#"{"id": "R77", "cabin": "old", "p": 1.10}"#;
        let made = mends
            .mend("set", write, &leaves(write), &stored(old), &[])
            .unwrap();
        let now = said(&made.content).unwrap();
        assert_eq!(now, r#"{"id": "R77", "cabin": "biz", "p": 1.10}"#);
        let writes = [Write {
            name: "set".into(),
            key: Key::of(b"set"),
            position: 0,
            before: Key::of(b"fresh"),
            names: leaves(write),
            content: Some(made.content.clone()),
        }];
        let read = r#"{"id":"R77"}"#;
        let made = mends
            .mend("get", read, &leaves(read), &stored(old), &writes)
            .unwrap();
        assert_eq!(said(&made.content).unwrap(), now);
        // Of another one nothing was written.
        let read = r#"{"id":"R78"}"#;
        assert!(
            mends
                .mend(
                    "get",
                    read,
                    &leaves(read),
                    &stored(&old.replace("77", "78")),
                    &writes
                )
                .is_none()
        );
        let made = mends
            .mend("get", read, &leaves(read), &stored("{}"), &writes)
            .unwrap();
        assert_eq!(said(&made.content).unwrap(), "Error: R78 not found");
        assert_eq!(made.like.outcome, "not_found");
        // Nobody answered: the error that three have in common.
        let made = mends.template("get", &leaves(read), &[]).unwrap();
        assert_eq!(said(&made.content).unwrap(), "Error: R78 not found");
    }

    #[test]
    fn one_real_answer_against_it_is_enough() {
        let mut all = lessons();
        all.push(lesson("c", false, "get", r#"{"id":"XR99"}"#, "{}"));
        all.push(lesson("d", true, "get", r#"{"id":"XR99"}"#, "{}"));
        let write = r#"{"cabin":"eco","id":"R99"}"#;
        all.push(lesson(
            "e",
            true,
            "set",
            write,
            r#"{"id":"R99","cabin":"eco"}"#,
        ));
        all.push(lesson(
            "e",
            true,
            "get",
            r#"{"id":"R99"}"#,
            r#"{"id":"R99","cabin":"biz"}"#,
        ));
        let learned = Mends::learn(&all).learned();
        assert_eq!(
            (learned.reads_as_written, learned.refusals),
            (0, 0),
            "{learned:?}"
        );
    }
}
