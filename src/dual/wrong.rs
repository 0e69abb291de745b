//! Mistakes of a plan, told with their place.

use std::path::Path;
use std::time::Duration;

use toml::Spanned;

use super::error::{DualError, DualResult};

/// Makes messages with their place.
pub(super) struct Wrong<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Wrong<'_> {
    fn error(&self, at: Option<usize>, message: String) -> DualError {
        let place = match at {
            Some(at) => {
                let before = self.text.get(..at).unwrap_or(self.text);
                let line = before.matches('\n').count() + 1;
                let tail = before.rsplit('\n').next().unwrap_or_default();
                let column = tail.chars().count() + 1;
                format!("{}:{line}:{column}", self.path.display())
            }
            None => self.path.display().to_string(),
        };
        DualError::Plan { place, message }
    }

    pub(super) fn of_toml(&self, error: &toml::de::Error) -> DualError {
        let message = error
            .message()
            .replace('\n', ", ")
            .replace("expected i64", "expected a whole number")
            .replace("expected f64", "expected a number");
        self.error(error.span().map(|span| span.start), message)
    }

    pub(super) fn at<T>(&self, given: &Spanned<T>, message: &str) -> DualError {
        self.error(Some(given.span().start), message.to_owned())
    }

    pub(super) fn whole(&self, message: &str) -> DualError {
        self.error(None, message.to_owned())
    }

    pub(super) fn whole_number<T: TryFrom<i64> + Copy>(
        &self,
        name: &str,
        given: Option<&Spanned<i64>>,
        default: T,
    ) -> DualResult<T> {
        let Some(given) = given else {
            return Ok(default);
        };
        let number = Some(*given.get_ref()).filter(|n| (1..=1_000_000).contains(n));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
            self.at(
                given,
                &format!("{name}: write a whole number from 1 to 1000000"),
            )
        })
    }

    pub(super) fn seconds(
        &self,
        name: &str,
        given: Option<&Spanned<f64>>,
        default: f64,
    ) -> DualResult<Duration> {
        let seconds = given.map_or(default, |given| *given.get_ref());
        let fits = (0.0..=86_400.0 * 30.0).contains(&seconds);
        match (Duration::try_from_secs_f64(seconds), given) {
            (Ok(duration), _) if fits => Ok(duration),
            (_, Some(given)) => Err(self.at(given, &format!("{name}: write seconds, from 0.0 on"))),
            _ => Ok(Duration::ZERO),
        }
    }
}
