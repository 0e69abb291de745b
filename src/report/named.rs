//! The analysts' queries of `queries/`, by name.

macro_rules! queries {
    ($($name:literal),* $(,)?) => {
        &[$(NamedQuery { name: $name, sql: include_str!(concat!("../../queries/", $name, ".sql")) }),*]
    };
}

/// A query that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct NamedQuery {
    /// Its name: that of its file, without `.sql`.
    pub name: &'static str,
    /// Its text, comments included.
    pub sql: &'static str,
}

/// All of them.
pub const NAMED: &[NamedQuery] = queries![
    "gap_by_api_and_outcome",
    "gap_by_cause",
    "gap_by_path",
    "worst_calls",
    "profile_distribution",
    "sim_ok_real_error",
    "real_coverage",
    "outcomes_and_latency",
    "tools_by_arm",
    "low_fidelity_weight",
];

impl NamedQuery {
    /// By name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        NAMED.iter().find(|query| query.name == name)
    }

    /// What it answers: the first line of its comment.
    #[must_use]
    pub fn answers(&self) -> &'static str {
        self.sql
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("--")
            .trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_says_what_it_answers() {
        for query in NAMED {
            assert!(query.answers().ends_with('.'), "{}", query.name);
            assert_eq!(
                NamedQuery::find(query.name).map(|q| q.name),
                Some(query.name)
            );
        }
        assert!(NamedQuery::find("nothing").is_none());
    }
}
