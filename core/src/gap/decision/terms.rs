//! How much a word says: rare ones among the tools say more.

use std::collections::{BTreeSet, HashMap};

use super::bag::each_word;
use crate::gap::catalog::Tool;
use crate::gap::schema::split;
use crate::gap::tokens::hash;

/// In how many tools each word stands. The documents are the distinct tools that
/// `sim` offers: name, description, parameter names at every depth.
#[derive(Clone, Debug, Default)]
pub struct TermWeights {
    /// `None`: every word weighs 1.
    tools: Option<u64>,
    with: HashMap<u64, u64>,
}

impl TermWeights {
    /// Every word weighs 1: where no catalogs are known.
    #[must_use]
    pub fn flat() -> Self {
        Self::default()
    }

    /// From the number of tools, and for each word the number of tools that have it.
    #[must_use]
    pub fn new<'w>(tools: u64, with: impl IntoIterator<Item = (&'w str, u64)>) -> Self {
        let with = with.into_iter();
        Self {
            tools: Some(tools),
            with: with.map(|(word, n)| (hash(word.as_bytes()), n)).collect(),
        }
    }

    /// From the tools themselves, which must be distinct.
    #[must_use]
    pub fn of(tools: &[Tool<'_>]) -> Self {
        let mut with: HashMap<u64, u64> = HashMap::new();
        for tool in tools {
            for word in tool_words(tool) {
                *with.entry(hash(word.as_bytes())).or_default() += 1;
            }
        }
        Self {
            tools: Some(tools.len() as u64),
            with,
        }
    }

    /// `ln(1 + N / (1 + df))`.
    pub(super) fn idf(&self, word: u64) -> f64 {
        let Some(tools) = self.tools else { return 1.0 };
        let with = self.with.get(&word).copied().unwrap_or_default();
        (tools as f64 / (1 + with) as f64).ln_1p()
    }
}

/// The distinct words of a tool, in order: what counts as its document.
#[must_use]
pub fn tool_words(tool: &Tool<'_>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut read = |text: &str| {
        each_word(text, |_, word| {
            words.insert(word.to_owned());
        });
    };
    read(tool.name);
    read(tool.description);
    split(tool.parameters).names.iter().for_each(|n| read(n));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_by_hand() {
        let tools = [
            Tool {
                name: "findUser",
                description: "Finds a user",
                parameters: r#"{"properties":{"user_id":{"type":"string"}}}"#,
            },
            Tool {
                name: "book",
                description: "",
                parameters: "",
            },
        ];
        let words = Vec::from_iter(tool_words(&tools[0]));
        assert_eq!(words, ["a", "find", "finds", "id", "user"]);
        let (counted, given) = (
            TermWeights::of(&tools),
            TermWeights::new(2, [("book", 1), ("user", 1)]),
        );
        for terms in [counted, given] {
            // ln(1 + 2/2), and ln(1 + 2/1) for a word that no tool has.
            assert!((terms.idf(hash(b"user")) - 2f64.ln()).abs() < 1e-12);
            assert!((terms.idf(hash(b"nowhere")) - 3f64.ln()).abs() < 1e-12);
        }
        assert_eq!(TermWeights::flat().idf(1), 1.0);
    }
}
