//! A text in other words.

use super::draw::{Draw, unit};
use super::synonyms::{COMMON, DESCRIPTION, DESCRIPTION_FRAMES, Entry, TASK, TASK_FRAMES};
use super::words::{Word, plain_words};

/// What kind of text is reworded: each has words of its own beside the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// What an agent is told.
    Task,
    /// What a tool or a parameter is described with.
    Description,
}

impl Register {
    fn lists(self) -> [&'static [Entry]; 2] {
        match self {
            Self::Task => [TASK, COMMON],
            Self::Description => [DESCRIPTION, COMMON],
        }
    }

    const fn frames(self) -> &'static [&'static str] {
        match self {
            Self::Task => TASK_FRAMES,
            Self::Description => DESCRIPTION_FRAMES,
        }
    }
}

/// Longest phrase of the list, in words.
const LONGEST: usize = 4;

/// The text with a share of the places where a rule fits reworded; where none
/// fits, a frame is put before it. Of several rules the longest phrase holds.
/// `intensity` in [0,1].
#[must_use]
pub fn paraphrased(
    text: &str,
    register: Register,
    draw: &Draw<'_>,
    name: &str,
    unit_name: &str,
    intensity: f64,
) -> String {
    let words = plain_words(text);
    let mut out = String::with_capacity(text.len() + 32);
    let (mut from, mut at, mut fits) = (0, 0, 0);
    while at < words.len() {
        let Some((count, others)) = longest(text, &words[at..], register) else {
            at += 1;
            continue;
        };
        let mut chance = draw.chance(name, &format!("{unit_name} place {fits}"));
        fits += 1;
        if unit(&mut chance) < intensity {
            let (first, last) = (&words[at], &words[at + count - 1]);
            out.push_str(&text[from..first.at.start]);
            let other = others[chance.below(others.len())];
            out.push_str(&spelled(
                other,
                text[first.at.clone()].chars().next(),
                first.first,
            ));
            from = last.at.end;
        }
        at += count;
    }
    out.push_str(&text[from..]);
    if fits == 0 && !words.is_empty() {
        let mut chance = draw.chance(name, &format!("{unit_name} frame"));
        if unit(&mut chance) < intensity {
            let frames = register.frames();
            return format!("{}{text}", frames[chance.below(frames.len())]);
        }
    }
    out
}

/// The longest phrase of the lists with which these words begin.
fn longest(
    text: &str,
    words: &[Word],
    register: Register,
) -> Option<(usize, &'static [&'static str])> {
    let mut phrase = String::new();
    let mut found = None;
    for (count, word) in words.iter().take(LONGEST).enumerate() {
        if count > 0 {
            // A phrase has single spaces and no marks inside.
            if text.get(words[count - 1].at.end..word.at.start) != Some(" ") {
                break;
            }
            phrase.push(' ');
        }
        phrase.push_str(&text[word.at.clone()].to_lowercase());
        let entry = register
            .lists()
            .into_iter()
            .find_map(|list| list.iter().find(|(known, _)| *known == phrase));
        if let Some((_, others)) = entry {
            found = Some((count + 1, *others));
        }
    }
    found
}

/// With the capital that stood there, and that of `I`.
fn spelled(other: &str, old: Option<char>, sentence_start: bool) -> String {
    let capital = sentence_start && old.is_some_and(char::is_uppercase);
    let personal = other == "i" || other.starts_with("i ") || other.starts_with("i'");
    let mut letters = other.chars();
    match letters.next() {
        Some(head) if capital || personal => head.to_uppercase().chain(letters).collect(),
        _ => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draw(seed: u64) -> Draw<'static> {
        Draw {
            seed,
            trajectory: "t",
        }
    }

    fn task(text: &str, seed: u64, intensity: f64) -> String {
        paraphrased(
            text,
            Register::Task,
            &draw(seed),
            "obs_paraphrase",
            "task",
            intensity,
        )
    }

    #[test]
    fn every_replacement_is_another_text_and_the_lists_are_lower_case() {
        for (known, others) in TASK.iter().chain(COMMON).chain(DESCRIPTION) {
            assert!(!others.is_empty() && !others.contains(known), "{known}");
            assert_eq!(known.to_lowercase(), *known);
            assert!(known.split(' ').count() <= LONGEST);
            let as_text = plain_words(known);
            assert_eq!(
                as_text.len(),
                known.split(' ').count(),
                "{known} can never match"
            );
        }
    }

    #[test]
    fn rules_reword_and_leave_what_carries_meaning() {
        let text = "I want to cancel the order \"please find\" of Find Ltd. Please check user_id 17 before Monday.";
        for seed in 0..50 {
            let other = task(text, seed, 1.0);
            for kept in ["\"please find\" of Find Ltd. ", " user_id 17 ", " Monday."] {
                assert!(other.contains(kept), "{other}");
            }
            assert!(
                other.starts_with("I'd like to ") || other.starts_with("I wish to "),
                "{other}"
            );
            assert!(other.contains("Kindly "), "{other}");
        }
    }

    #[test]
    fn where_no_rule_fits_a_frame_stands_before() {
        let other = task("Wash that car", 1, 1.0);
        assert!(
            other.ends_with("Wash that car") && other.len() > 20,
            "{other}"
        );
        assert_eq!(task("Wash that car", 1, 0.0), "Wash that car");
        assert_eq!(task("42 \"x\"", 1, 1.0), "42 \"x\"");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in ".{0,200}", seed: u64, intensity in 0.0f64..=1.0) {
            prop_assert_eq!(task(&text, seed, intensity), task(&text, seed, intensity));
            prop_assert_eq!(task(&text, seed, 0.0), text);
        }
    }
}
