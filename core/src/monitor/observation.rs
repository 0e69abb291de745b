//! One line that a training run sends: a pair of answers, or gaps that it has worked out itself.

use super::pair::PairReader;
use super::{DIMENSIONS, Gaps};
use crate::json::key::Key;
use crate::json::{Doc, Kind, Node};

/// Ids and names longer than this, in bytes, are refused.
const LONGEST: usize = 512;

/// When an observation was made, as it says.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// It does not say.
    Unknown,
    /// Seconds since 1970, in microseconds.
    Micros(i64),
    /// A text that is to be read as a time.
    Text(String),
}

/// What was seen of one call in both arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Hash of its id and environment; given again, it is a duplicate. Of the whole line if it has no id.
    pub key: Key,
    /// The environment.
    pub environment: String,
    /// The tool.
    pub api: String,
    /// How the call ended in sim; `-` if that is not known.
    pub outcome: String,
    /// Whose clock `when` is read from.
    pub source: String,
    /// When it was made.
    pub when: When,
    /// The training step.
    pub step: Option<i64>,
    /// Real calls that it took.
    pub cost: f64,
    /// Gaps by dimension.
    pub gaps: Gaps,
}

/// A line that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// Not an object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A field that must be there.
    #[error("no {0}: every observation names its environment and its api")]
    Missing(&'static str),
    /// A field of another kind.
    #[error("{field} is {found}; it must be {wanted}")]
    Wrong {
        /// The field.
        field: String,
        /// What stands there, cut.
        found: String,
        /// What should.
        wanted: &'static str,
    },
    /// Too long.
    #[error("{0} is longer than {LONGEST} bytes")]
    Long(&'static str),
    /// No gap.
    #[error("nothing to compare: give `gaps` (obs, act, rew, trans), or `sim` and `real`")]
    Nothing,
}

fn wrong(field: &str, node: Node<'_>, wanted: &'static str) -> Malformed {
    let found: String = node.raw().chars().take(40).collect();
    Malformed::Wrong {
        field: field.to_owned(),
        found,
        wanted,
    }
}

fn text(node: Node<'_>, field: &'static str) -> Result<Option<String>, Malformed> {
    let Some(value) = node.get_some(field) else {
        return Ok(None);
    };
    let text = match value.kind() {
        Kind::String => value.as_str().unwrap_or_default(),
        Kind::Number => value.raw(),
        _ => return Err(wrong(field, value, "a text")),
    };
    let trimmed = text.trim();
    if trimmed.len() > LONGEST {
        return Err(Malformed::Long(field));
    }
    Ok((!trimmed.is_empty()).then(|| trimmed.to_owned()))
}

impl Observation {
    /// Reads a line.
    ///
    /// # Errors
    /// [`Malformed`], which says what is wrong with it.
    pub fn read(line: &str, pairs: &mut PairReader) -> Result<Self, Malformed> {
        let doc = Doc::parse(line).map_err(|error| Malformed::NotJson(error.to_string()))?;
        let root = doc.root();
        if root.kind() != Kind::Object {
            return Err(Malformed::NotAnObject);
        }
        let environment = text(root, "environment")?.ok_or(Malformed::Missing("environment"))?;
        let api = text(root, "api")?.ok_or(Malformed::Missing("api"))?;
        let outcome = text(root, "outcome")?;
        let (gaps, derived) = match (
            root.get_some("gaps"),
            root.get_some("sim"),
            root.get_some("real"),
        ) {
            (Some(gaps), _, _) => (ready(gaps)?, None),
            (None, Some(sim), Some(real)) => {
                for (name, side) in [("sim", sim), ("real", real)] {
                    if side.kind() != Kind::Object {
                        return Err(wrong(name, side, "an object with the answer of that arm"));
                    }
                }
                let (gaps, outcome) = pairs.compare(&environment, sim, real);
                (gaps, Some(outcome.to_owned()))
            }
            _ => return Err(Malformed::Nothing),
        };
        if gaps.iter().all(Option::is_none) {
            return Err(Malformed::Nothing);
        }
        let id = text(root, "id")?;
        let key = match &id {
            Some(id) => Key::of_parts(&[&environment, id]),
            None => Key::of(line.trim().as_bytes()),
        };
        Ok(Self {
            key,
            environment,
            api,
            outcome: outcome.or(derived).unwrap_or_else(|| "-".into()),
            source: text(root, "source")?.unwrap_or_default(),
            when: when(root)?,
            step: number(root, "step")?.map(|step| step as i64),
            cost: number(root, "cost")?.unwrap_or(1.0).max(0.0),
            gaps,
        })
    }
}

fn when(root: Node<'_>) -> Result<When, Malformed> {
    let Some(value) = root.get_some("time") else {
        return Ok(When::Unknown);
    };
    match (value.kind(), value.as_f64()) {
        (Kind::Number, Some(seconds)) if seconds.abs() < 9e12 => {
            Ok(When::Micros((seconds * 1e6).round() as i64))
        }
        (Kind::String, _) => Ok(When::Text(value.as_str().unwrap_or_default().to_owned())),
        _ => Err(wrong(
            "time",
            value,
            "seconds since 1970, or a time such as 2026-07-31T12:00:00Z",
        )),
    }
}

fn number(root: Node<'_>, field: &'static str) -> Result<Option<f64>, Malformed> {
    let Some(value) = root.get_some(field) else {
        return Ok(None);
    };
    let found = value.as_f64().filter(|x| x.is_finite() && x.abs() < 9e15);
    found
        .map(Some)
        .ok_or_else(|| wrong(field, value, "a number"))
}

fn ready(gaps: Node<'_>) -> Result<Gaps, Malformed> {
    if gaps.kind() != Kind::Object {
        return Err(wrong("gaps", gaps, "an object of obs, act, rew, trans"));
    }
    let mut found = [None; 4];
    for (name, value) in gaps.entries() {
        let Some(at) = DIMENSIONS.iter().position(|known| *known == name) else {
            return Err(wrong(
                &format!("gaps.{}", name.chars().take(40).collect::<String>()),
                value,
                "absent: the dimensions are obs, act, rew, trans",
            ));
        };
        if value.is_null() {
            continue;
        }
        let gap = value.as_f64().filter(|gap| (0.0..=1.0).contains(gap));
        found[at] = Some(gap.ok_or_else(|| {
            wrong(
                &format!("gaps.{name}"),
                value,
                "a number from 0 to 1, or null",
            )
        })?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> Result<Observation, Malformed> {
        Observation::read(line, &mut PairReader::default())
    }

    #[test]
    fn lines_by_hand() {
        let found = read(r#"{"id": 7, "environment": " e ", "api": "a", "gaps": {"obs": 0.25, "rew": null}, "step": 3, "time": 1.5, "x": []}"#).unwrap();
        assert_eq!(
            (found.environment.as_str(), found.outcome.as_str()),
            ("e", "-")
        );
        assert_eq!(found.gaps, [Some(0.25), None, None, None]);
        assert_eq!((found.step, found.cost), (Some(3), 1.0));
        assert_eq!(found.when, When::Micros(1_500_000));
        assert_eq!(found.key, Key::of_parts(&["e", "7"]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, why) in [
            ("{", "not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"api": "a", "gaps": {"obs": 0}}"#, "no environment"),
            (
                r#"{"environment": "", "api": "a", "gaps": {"obs": 0}}"#,
                "no environment",
            ),
            (r#"{"environment": "e", "gaps": {"obs": 0}}"#, "no api"),
            (r#"{"environment": "e", "api": "a"}"#, "nothing to compare"),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"obs": null}}"#,
                "nothing to compare",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"obs": 1.5}}"#,
                "gaps.obs is 1.5; it must be a number from 0 to 1, or null",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"obs": NaN}}"#,
                "gaps.obs is NaN",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"odd": 1}}"#,
                "gaps.odd is 1; it must be absent",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": 1}"#,
                "gaps is 1",
            ),
            (
                r#"{"environment": "e", "api": "a", "sim": "x", "real": {}}"#,
                "sim is \"x\"",
            ),
            (
                r#"{"environment": "e", "api": {"b": 1}, "gaps": {"obs": 0}}"#,
                "api is {\"b\": 1}",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"obs": 0}, "time": []}"#,
                "time is []",
            ),
            (
                r#"{"environment": "e", "api": "a", "gaps": {"obs": 0}, "step": "x"}"#,
                "step is \"x\"",
            ),
        ] {
            let said = read(line).unwrap_err().to_string();
            assert!(said.starts_with(why), "{line}: {said}");
        }
        let long = format!(
            r#"{{"environment": "{}", "api": "a", "gaps": {{"obs": 0}}}}"#,
            "e".repeat(600)
        );
        assert_eq!(read(&long), Err(Malformed::Long("environment")));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(line in ".{0,200}") {
            let _ = read(&line);
        }

        #[test]
        fn any_object_is_read_or_refused(a in "[a-z\\[\\]{}\":,0-9]{0,40}", b in "[a-z\\[\\]{}\":,0-9]{0,40}") {
            let _ = read(&format!(r#"{{"environment": "e", "api": "a", "sim": {a}, "real": {b}}}"#));
        }
    }
}
