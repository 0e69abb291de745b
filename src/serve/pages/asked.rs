//! What a request asks for: its parameters, each taken once, none left over.

use super::error::{PageError, PageResult};

/// Longest text of a parameter, in bytes; ids of trajectories are far shorter.
const LONGEST: usize = 4096;

/// Parameters of one request.
const MOST: usize = 16;

/// The parameters of a request that were not taken yet.
#[derive(Debug)]
pub(super) struct Asked(Vec<(String, String)>);

impl Asked {
    /// Reads the part of an address behind the question mark. A parameter without a value was
    /// not given: forms send all their fields.
    pub(super) fn parse(query: &str) -> PageResult<Self> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if value.is_empty() {
                continue;
            }
            let wrong = |why: &str| Err(PageError::Wrong(format!("parameter {name:?}: {why}")));
            if value.len() > LONGEST || name.len() > LONGEST {
                return wrong("longer than 4096 bytes");
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return wrong("given twice");
            }
            if pairs.len() == MOST {
                return wrong("one too many; there are at most 16");
            }
            pairs.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(pairs))
    }

    /// A text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// A text that must be there.
    pub(super) fn needed(&mut self, name: &str) -> PageResult<String> {
        self.text(name)
            .ok_or_else(|| PageError::Wrong(format!("parameter {name:?} is missing")))
    }

    /// A number from 0 up to `most`.
    pub(super) fn number(&mut self, name: &str, most: i64) -> PageResult<Option<i64>> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let found = text.parse().ok().filter(|n| (0..=most).contains(n));
        match found {
            Some(found) => Ok(Some(found)),
            None => Err(PageError::Wrong(format!(
                "parameter {name:?} is {text:?}: a number from 0 to {most} is needed"
            ))),
        }
    }

    /// How many rows to pass over.
    pub(super) fn from(&mut self) -> PageResult<usize> {
        const FAR: i64 = 10_000_000;
        let from = self.number("from", FAR)?.unwrap_or(0);
        Ok(usize::try_from(from).unwrap_or(0))
    }

    /// One of some words.
    pub(super) fn word(
        &mut self,
        name: &str,
        words: &'static [&'static str],
    ) -> PageResult<Option<&'static str>> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(PageError::Wrong(format!(
                "parameter {name:?} is {text:?}: one of {} is needed",
                words.join(", ")
            ))),
        }
    }

    /// Nothing may be left over: a mistyped name would silently show something else.
    pub(super) fn end(self) -> PageResult<()> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(PageError::Wrong(format!(
                "parameter {name:?} is none of this page's"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_taken_once_or_refused() {
        let mut asked = Asked::parse("a=x%20y&n=7&b=&w=obs").unwrap();
        assert_eq!(asked.text("a").as_deref(), Some("x y"));
        assert_eq!(asked.text("b"), None);
        assert_eq!(asked.number("n", 10).unwrap(), Some(7));
        assert_eq!(asked.word("w", &["obs", "act"]).unwrap(), Some("obs"));
        asked.end().unwrap();
        assert!(Asked::parse("a=1&a=2").is_err());
        assert!(Asked::parse(&format!("a={}", "x".repeat(5000))).is_err());
        assert!(Asked::parse("n=x").unwrap().number("n", 5).is_err());
        assert!(Asked::parse("n=6").unwrap().number("n", 5).is_err());
        assert!(Asked::parse("n=-1").unwrap().number("n", 5).is_err());
        assert!(Asked::parse("w=x").unwrap().word("w", &["obs"]).is_err());
        assert!(Asked::parse("left=1").unwrap().end().is_err());
    }
}
