//! Which sentences of a tool's description are made to move the choice of a
//! tool rather than to describe it: its cost, its latency, its standing.
//!
//! The lists are published so that the split can be checked and argued with.
//! Words that also belong to the subject of many tools ("the price of a
//! flight", "the best route") only count beside a word for the use of the tool.

use super::tokens::each_token;

/// One of these (any case) is enough.
pub const REWARD_WORDS: [&str; 28] = [
    "billed",
    "cheaper",
    "cheapest",
    "costlier",
    "deprecated",
    "endorsed",
    "faster",
    "fastest",
    "inexpensive",
    "latency",
    "millisecond",
    "milliseconds",
    "ms",
    "official",
    "overpriced",
    "preferable",
    "quicker",
    "quickest",
    "quota",
    "slower",
    "slowest",
    "sponsored",
    "superior",
    "trusted",
    "trustworthy",
    "unreliable",
    "untrusted",
    "verified",
];

/// These count in a sentence with one of [`USE_WORDS`].
pub const REWARD_WORDS_BESIDE_USE: [&str; 36] = [
    "affordable",
    "best",
    "billing",
    "budget",
    "charge",
    "charged",
    "charges",
    "cheap",
    "cost",
    "costly",
    "costs",
    "credits",
    "delay",
    "efficient",
    "expensive",
    "fast",
    "fee",
    "fees",
    "free",
    "guaranteed",
    "instant",
    "paid",
    "popular",
    "preferred",
    "premium",
    "price",
    "priced",
    "pricing",
    "quick",
    "rated",
    "recommended",
    "reliable",
    "seconds",
    "slow",
    "usd",
    "worst",
];

/// Words for the use of a tool.
pub const USE_WORDS: [&str; 17] = [
    "api",
    "call",
    "calls",
    "endpoint",
    "execution",
    "function",
    "invocation",
    "invocations",
    "latencies",
    "request",
    "requests",
    "response",
    "responses",
    "runtime",
    "tool",
    "tools",
    "usage",
];

/// Splits a description into the sentences that speak of reward and the others.
/// Sentences end at a full stop with a space, a line break or a semicolon; a
/// note in square brackets is a sentence of its own.
pub(super) fn split_reward(description: &str) -> (String, String) {
    let (mut reward, mut rest) = (String::new(), String::new());
    let mut from = 0;
    let bytes = description.as_bytes();
    for at in 0..=bytes.len() {
        let ends = match at.checked_sub(1).map(|before| bytes[before]) {
            _ if at == bytes.len() => true,
            _ if bytes[at] == b'[' => true,
            Some(b'\n' | b';' | b']') => true,
            Some(b'.') => bytes[at].is_ascii_whitespace(),
            _ => false,
        };
        if ends && from < at {
            let sentence = &description[from..at];
            let into = if speaks_of_reward(sentence) {
                &mut reward
            } else {
                &mut rest
            };
            into.push_str(sentence);
            into.push('\n');
            from = at;
        }
    }
    (reward, rest)
}

fn speaks_of_reward(sentence: &str) -> bool {
    let (mut alone, mut beside, mut in_use) = (false, false, false);
    each_token(sentence, |token| {
        // "50ms" is a number and a unit.
        let word = token.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        let word = word.to_ascii_lowercase();
        let within = |list: &[&str]| list.binary_search(&word.as_str()).is_ok();
        alone |= within(&REWARD_WORDS);
        beside |= within(&REWARD_WORDS_BESIDE_USE);
        in_use |= within(&USE_WORDS);
        !alone
    });
    alone || (beside && in_use)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(REWARD_WORDS.is_sorted());
        assert!(REWARD_WORDS_BESIDE_USE.is_sorted());
        assert!(USE_WORDS.is_sorted());
    }

    #[test]
    fn sentences_by_hand() {
        let split = |text: &str| {
            let (a, b) = split_reward(text);
            (a.replace('\n', "|"), b.replace('\n', "|"))
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            split("Finds é. [Cost: $0.01 per call]"),
            pair("[Cost: $0.01 per call]|", "Finds é.| |")
        );
        assert_eq!(
            split("Finds it [Response time: ~50ms]"),
            pair("[Response time: ~50ms]|", "Finds it |")
        );
        assert_eq!(
            split("The best price of a flight"),
            pair("", "The best price of a flight|")
        );
        assert_eq!(
            split("The best tool there is"),
            pair("The best tool there is|", "")
        );
        assert_eq!(
            split("Average LATENCY: 50; latent"),
            pair("Average LATENCY: 50;|", " latent|")
        );
        assert_eq!(split(""), pair("", ""));
    }
}
