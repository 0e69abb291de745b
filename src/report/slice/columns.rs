//! What gaps can be sliced by, and where each column comes from.

use crate::engine::Engine;
use crate::lake::schema;

use super::SliceError;

/// Columns of `runs` that say something of a trajectory as a whole.
const OF_RUNS: &[&str] = &[
    "task_id",
    "group_id",
    "policy",
    "environment_version",
    "origin",
    "termination",
    "format",
];

/// Of these the value of the real arm is a column too, as `NAME_real`.
const OF_BOTH_ARMS: &[&str] = &["policy", "environment_version", "origin", "termination"];

/// Prefix of the columns that come from the runs' labels.
const LABELS: &str = "labels.";

/// The outcome on both arms, or `sim -> real` where they disagree; `-` is no answer.
const OUTCOME: &str = "CASE WHEN g.outcome_sim IS NOT DISTINCT FROM g.outcome_real THEN coalesce(g.outcome_sim, '-') \
     ELSE coalesce(g.outcome_sim, '-') || ' -> ' || coalesce(g.outcome_real, '-') END";

/// Which rows are sliced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// One per call.
    Calls,
    /// One per trajectory.
    Trajectories,
}

/// All columns by name, labels left out.
pub(super) fn known(rows: Rows) -> Vec<String> {
    let mut out: Vec<String> = match rows {
        Rows::Calls => {
            let gaps = schema::table("call_gaps")
                .map(|t| t.columns.as_slice())
                .unwrap_or_default();
            std::iter::once("outcome".to_owned())
                .chain(gaps.iter().map(|c| c.name.clone()))
                .collect()
        }
        Rows::Trajectories => ["environment", "trajectory_id"].map(str::to_owned).to_vec(),
    };
    out.extend(OF_RUNS.iter().map(|c| (*c).to_owned()));
    out.extend(OF_BOTH_ARMS.iter().map(|c| format!("{c}_real")));
    out
}

/// Checks the names that the user gave.
pub(super) async fn check(engine: &Engine, by: &[String], rows: Rows) -> Result<(), SliceError> {
    if by.is_empty() {
        return Err(SliceError::NoColumn);
    }
    let known = known(rows);
    let mut labels = None;
    for (at, name) in by.iter().enumerate() {
        if by[..at].contains(name) {
            return Err(SliceError::Twice(name.clone()));
        }
        let there = match name.strip_prefix(LABELS) {
            None => known.contains(name),
            Some(key) => {
                if labels.is_none() {
                    labels = Some(label_keys(engine).await?);
                }
                labels
                    .as_ref()
                    .is_some_and(|keys| keys.iter().any(|k| k == key))
            }
        };
        if there {
            continue;
        }
        if rows == Rows::Trajectories && self::known(Rows::Calls).contains(name) {
            return Err(SliceError::OfCalls(name.clone()));
        }
        let labels = match labels {
            Some(keys) => keys,
            None => label_keys(engine).await?,
        };
        let labels = labels.into_iter().map(|key| format!("{LABELS}{key}"));
        let known = known
            .into_iter()
            .chain(labels)
            .collect::<Vec<_>>()
            .join(", ");
        return Err(SliceError::Unknown {
            name: name.clone(),
            known,
        });
    }
    Ok(())
}

/// The keys that occur in the runs' labels.
async fn label_keys(engine: &Engine) -> Result<Vec<String>, SliceError> {
    let sql = "SELECT DISTINCT key FROM (SELECT unnest(json_keys(labels)) AS key FROM \
               (SELECT DISTINCT labels FROM runs WHERE labels IS NOT NULL)) ORDER BY key";
    let (_, batches) = engine.query(sql).await?;
    let mut out = vec![];
    for batch in batches {
        out.extend(super::result::texts(&batch, 0)?.into_iter().flatten());
    }
    Ok(out)
}

/// The rows with every column that `by` or `filter` names.
pub(super) fn base(rows: Rows, by: &[String], filter: Option<&str>) -> String {
    let filter = filter.unwrap_or_default();
    let wanted = |name: &str| by.iter().any(|b| b == name) || mentions(filter, name);
    let mut joined = vec![];
    let mut picked = vec![];
    let mut pick = |name: &str, value: String| {
        joined.push(format!("{value} AS {}", quoted(name)));
        picked.push(format!(", r.{}", quoted(name)));
    };
    for name in OF_RUNS {
        if wanted(name) {
            pick(
                name,
                format!("coalesce({}, {})", first(name, "sim"), first(name, "real")),
            );
        }
    }
    for name in OF_BOTH_ARMS {
        let real = format!("{name}_real");
        if wanted(&real) {
            pick(&real, first(name, "real"));
        }
    }
    let labels = format!(
        "coalesce({}, {})",
        first("labels", "sim"),
        first("labels", "real")
    );
    for name in by {
        if let Some(key) = name.strip_prefix(LABELS) {
            pick(
                name,
                format!("json_field({labels}, '{}')", key.replace('\'', "''")),
            );
        }
    }
    if mentions(filter, "labels") {
        pick("labels", labels);
    }
    let join = if joined.is_empty() {
        String::new()
    } else {
        format!(
            "\nLEFT JOIN (\n    SELECT environment, trajectory_id, {}\n    FROM runs GROUP BY environment, trajectory_id\n) AS r\n\
             ON r.environment = g.environment AND r.trajectory_id = g.trajectory_id",
            joined.join(",\n        ")
        )
    };
    let picked = picked.concat();
    match rows {
        Rows::Calls => {
            format!("SELECT g.*, {OUTCOME} AS outcome{picked}\nFROM call_gaps_now AS g{join}")
        }
        Rows::Trajectories => format!("SELECT g.*{picked}\nFROM profiles_now AS g{join}"),
    }
}

/// The value of the first run of an arm.
fn first(column: &str, arm: &str) -> String {
    format!("first_value({column} ORDER BY repeat) FILTER (WHERE arm = '{arm}')")
}

/// Whether a text of SQL has this word.
fn mentions(sql: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    sql.split(|c| !part(c))
        .any(|found| found.eq_ignore_ascii_case(word))
}

/// A name as SQL reads it, whatever it contains.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_only_where_they_are_asked_for() {
        let by = ["api".to_owned(), "outcome".to_owned()];
        assert!(!base(Rows::Calls, &by, Some("weight > 0.5")).contains("JOIN"));
        let sql = base(Rows::Calls, &by, Some("termination_real = 'x'"));
        assert!(
            sql.contains("AS \"termination_real\"") && !sql.contains("AS \"termination\""),
            "{sql}"
        );
        let sql = base(Rows::Calls, &["labels.it's".to_owned()], None);
        assert!(sql.contains("'it''s') AS \"labels.it's\""), "{sql}");
    }

    #[test]
    fn columns_are_those_of_the_table_and_more() {
        let names = known(Rows::Calls);
        for name in [
            "outcome",
            "outcome_real",
            "api",
            "task_id",
            "policy",
            "environment_version_real",
        ] {
            assert!(names.iter().any(|n| n == name), "{name}");
        }
        assert!(!known(Rows::Trajectories).contains(&"api".to_owned()));
    }
}
