//! Families of groups: `observation=obs_*`.

use super::error::{ValidateError, ValidateResult};

/// Groups that belong together, by the form of their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name.
    pub name: String,
    pattern: String,
}

impl Family {
    /// Reads `NAME=PATTERN`; `*` stands for any text.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn parse(text: &str) -> ValidateResult<Self> {
        match text.split_once('=') {
            Some((name, pattern)) if !name.trim().is_empty() && !pattern.trim().is_empty() => {
                Ok(Self {
                    name: name.trim().to_owned(),
                    pattern: pattern.trim().to_owned(),
                })
            }
            _ => Err(ValidateError::Family {
                text: text.to_owned(),
                why: "write NAME=PATTERN, such as observation=obs_*".into(),
            }),
        }
    }

    /// Whether a group belongs to it.
    #[must_use]
    pub fn has(&self, label: &str) -> bool {
        let mut parts = self.pattern.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = label.strip_prefix(first) else {
            return false;
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else {
            return rest.is_empty();
        };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// As it was given.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}={}", self.name, self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_by_hand() {
        let has =
            |pattern: &str, label: &str| Family::parse(&format!("f={pattern}")).unwrap().has(label);
        assert!(has("obs_*", "obs_typos") && !has("obs_*", "my_obs_"));
        assert!(has("*_ab", "reward_cd_ab") && has("a*b*c", "a--b--c"));
        assert!(has("x", "x") && !has("x", "xy") && !has("a*b*c", "acb"));
        assert!(Family::parse("obs_*").is_err() && Family::parse("=x").is_err());
    }
}
