//! What an import is called, and its row in table `imports`.

use std::path::Path;

use fidelake_core::json::key::Key;
use fidelake_core::mask;
use fidelake_core::model::{OutcomeRules, TextRule};
use serde::Deserialize;

use super::{Counts, ImportError, Options, Source};
use crate::lake::LakeWriter;
use crate::lake::rows::Table;

/// The same source, read in the same way, has the same id.
pub(super) fn import_id(source: &Source, options: &Options, rules: &OutcomeRules) -> String {
    let version = source.format.parser_version().to_string();
    let parts = [
        &*source.hash.to_string(),
        source.format.name(),
        options
            .environment
            .as_deref()
            .or(source.guessed.as_deref())
            .unwrap_or_default(),
        options.arm.map_or("", |arm| arm.as_str()),
        &*mask_name(options.mask),
        &*version,
        &*rules.fingerprint(),
        options.on_conflict.name(),
    ];
    Key::of_parts(&parts).to_string()
}

fn mask_name(mode: mask::Mode) -> String {
    format!("{} {}", mode.name(), mask::RULES_VERSION)
}

#[allow(
    clippy::too_many_arguments,
    reason = "a row of a table has many columns"
)]
pub(super) fn imports_row(
    table: &mut Table,
    source: &Source,
    import_id: &str,
    options: &Options,
    operation: &str,
    writer: &LakeWriter<'_>,
    counts: &Counts,
    masked: u64,
) {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    table
        .text(import_id)
        .int32(Some(writer.attempt()))
        .text(operation)
        .text(&source.given)
        .text(source.format.name())
        .int32(Some(source.format.parser_version()))
        .opt_text(options.environment.as_deref())
        .opt_text(options.arm.map(|arm| arm.as_str()))
        .text(&mask_name(options.mask))
        .int64(number(masked))
        .int64(number(source.source_bytes))
        .int64(number(source.decoded_bytes));
    for count in [
        counts.records,
        counts.imported,
        counts.trajectories,
        counts.runs,
        counts.messages,
        counts.calls,
        counts.observations,
        counts.verdicts,
        counts.duplicates,
        counts.rejected,
    ] {
        table.int64(number(count));
    }
    table
        .time(Some(chrono::Utc::now().timestamp_micros()))
        .end_row();
}

/// The user's own outcome rules, `_fidelake/outcomes.toml` in the lake.
pub(super) fn read_rules(lake: &Path) -> Result<OutcomeRules, ImportError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        rule: Vec<Rule>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Rule {
        name: String,
        environment: Option<String>,
        pattern: String,
        outcome: String,
    }
    let path = lake.join("_fidelake").join("outcomes.toml");
    let fail = |what: String| ImportError::Rules {
        path: path.display().to_string(),
        what,
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(OutcomeRules::default()),
        Err(e) => return Err(fail(e.to_string())),
    };
    let file: File = toml::from_str(&text).map_err(|e| fail(e.to_string()))?;
    let rules = file.rule.into_iter().map(|rule| {
        let outcome = fidelake_core::model::Outcome::parse(&rule.outcome).ok_or_else(|| {
            fail(format!(
                "rule {:?}: no outcome is called {:?}",
                rule.name, rule.outcome
            ))
        })?;
        Ok(TextRule {
            name: rule.name,
            environment: rule.environment,
            pattern: rule.pattern,
            outcome,
        })
    });
    let rules = rules.collect::<Result<Vec<_>, ImportError>>()?;
    OutcomeRules::new(rules).map_err(|e| fail(e.to_string()))
}
