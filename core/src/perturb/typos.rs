//! Slips of the keyboard.

use crate::stats::Chance;

use super::draw::{Draw, unit};
use super::words::plain_words;

/// Shorter words are rarely mistyped, and say little when they are.
const SHORTEST: usize = 4;

/// Rows of the keyboard; neighbours in a row are neighbours under the finger.
const ROWS: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];

/// Common misspellings of English.
const MISSPELLED: [(&str, &str); 40] = [
    ("accommodate", "accomodate"),
    ("achieve", "acheive"),
    ("across", "accross"),
    ("address", "adress"),
    ("apparent", "apparant"),
    ("appearance", "appearence"),
    ("argument", "arguement"),
    ("because", "becuase"),
    ("before", "befor"),
    ("beginning", "begining"),
    ("believe", "beleive"),
    ("business", "buisness"),
    ("calendar", "calender"),
    ("committee", "commitee"),
    ("committed", "commited"),
    ("definitely", "definately"),
    ("different", "diffrent"),
    ("environment", "enviroment"),
    ("existence", "existance"),
    ("february", "febuary"),
    ("finally", "finaly"),
    ("foreign", "foriegn"),
    ("forward", "foward"),
    ("friend", "freind"),
    ("government", "goverment"),
    ("immediately", "immediatly"),
    ("independent", "independant"),
    ("interrupt", "interupt"),
    ("knowledge", "knowlege"),
    ("necessary", "neccessary"),
    ("occurred", "occured"),
    ("possession", "posession"),
    ("preferred", "prefered"),
    ("receive", "recieve"),
    ("recommend", "recomend"),
    ("separate", "seperate"),
    ("successful", "succesful"),
    ("their", "thier"),
    ("tomorrow", "tommorow"),
    ("which", "wich"),
];

/// The text with one slip in a share of its plain words. The first letter of a
/// word stays; `intensity` in [0,1].
#[must_use]
pub fn mistyped(text: &str, draw: &Draw<'_>, name: &str, intensity: f64) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for (ordinal, word) in plain_words(text).into_iter().enumerate() {
        let given = &text[word.at.clone()];
        let letters = given.bytes().all(|b| b.is_ascii_alphabetic());
        if !letters || given.len() < SHORTEST {
            continue;
        }
        let mut chance = draw.chance(name, &format!("word {ordinal}"));
        if unit(&mut chance) >= intensity {
            continue;
        }
        out.push_str(&text[from..word.at.start]);
        out.push_str(&slip(given, &mut chance));
        from = word.at.end;
    }
    out.push_str(&text[from..]);
    out
}

fn slip(word: &str, chance: &mut Chance) -> String {
    let lower = word.to_ascii_lowercase();
    if let Some((_, wrong)) = MISSPELLED.iter().find(|(right, _)| *right == lower)
        && chance.below(2) == 0
    {
        let tail = wrong.get(1..).unwrap_or_default();
        return format!("{}{tail}", &word[..1]);
    }
    let mut letters = word.as_bytes().to_vec();
    // Every kind of slip fits at some place behind the first letter.
    let at = 1 + chance.below(letters.len() - 1);
    match chance.below(4) {
        0 if at + 1 < letters.len() && letters[at] != letters[at + 1] => letters.swap(at, at + 1),
        1 => {
            letters.remove(at);
        }
        2 => letters.insert(at, letters[at]),
        _ => letters[at] = neighbour(letters[at], chance),
    }
    String::from_utf8(letters).unwrap_or_else(|_| word.to_owned())
}

fn neighbour(letter: u8, chance: &mut Chance) -> u8 {
    let lower = letter.to_ascii_lowercase();
    for row in ROWS {
        if let Some(at) = row.iter().position(|key| *key == lower) {
            return match at {
                0 => row[1],
                at if at + 1 == row.len() => row[at - 1],
                at if chance.below(2) == 0 => row[at - 1],
                at => row[at + 1],
            };
        }
    }
    letter
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str =
        "Please receive the parcel for Mia Li before 10:30, then send \"exact words\" to user_17.";

    fn draw(seed: u64) -> Draw<'static> {
        Draw {
            seed,
            trajectory: "t",
        }
    }

    #[test]
    fn one_slip_a_word_and_nothing_that_carries_meaning() {
        for seed in 0..200 {
            let text = mistyped(TEXT, &draw(seed), "obs_typos", 1.0);
            assert_ne!(text, TEXT);
            for kept in [
                "the ",
                "for Mia Li ",
                " 10:30,",
                "\"exact words\" to user_17.",
            ] {
                assert!(text.contains(kept), "{text}");
            }
            let (old, new) = (TEXT.split(' '), text.split(' '));
            for (old, new) in old.zip(new) {
                assert_eq!(old[..1], new[..1]);
                assert!(old.len().abs_diff(new.len()) <= 1, "{old} {new}");
            }
        }
    }

    #[test]
    fn the_share_of_words_is_the_intensity() {
        let text = "word ".repeat(4000);
        let changed = mistyped(&text, &draw(3), "obs_typos", 0.25);
        let count = changed.split_whitespace().filter(|w| *w != "word").count();
        // Five standard deviations.
        assert!(count.abs_diff(1000) < 140, "{count}");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in ".{0,200}", seed: u64, intensity in 0.0f64..=1.0) {
            let draw = draw(seed);
            let once = mistyped(&text, &draw, "obs_typos", intensity);
            prop_assert_eq!(&once, &mistyped(&text, &draw, "obs_typos", intensity));
            prop_assert_eq!(mistyped(&text, &draw, "obs_typos", 0.0), text);
        }
    }
}
