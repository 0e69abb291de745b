//! A recipe as it is spelled: every key with its place, for messages.

use serde::Deserialize;
use toml::Spanned;

use super::output_part::{OutputFile, PrivacyPart, RepairFile};
use super::recipe::{Arm, GateKind, GroupBy, Unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) version: Spanned<i64>,
    #[serde(default)]
    pub(super) source: SourceFile,
    #[serde(default)]
    pub(super) gate: GateFile,
    #[serde(default)]
    pub(super) groups: GroupsFile,
    #[serde(default)]
    pub(super) privacy: PrivacyPart,
    #[serde(default)]
    pub(super) repair: RepairFile,
    #[serde(default)]
    pub(super) output: OutputFile,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceFile {
    pub(super) r#where: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) arm: Arm,
    pub(super) judge: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateFile {
    #[serde(default)]
    pub(super) kind: GateKind,
    pub(super) unknown: Option<Spanned<UnknownWord>>,
    pub(super) unknown_weight: Option<Spanned<f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum UnknownWord {
    Keep,
    Drop,
    Weight,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupsFile {
    #[serde(default)]
    pub(super) by: GroupBy,
    #[serde(default)]
    pub(super) mix_policies: bool,
}

/// What the keys `unknown` and `unknown_weight` mean together; a mistake with its place.
pub(super) fn unknown(gate: &GateFile) -> Result<Unknown, (usize, String)> {
    let weight = gate.unknown_weight.as_ref();
    let word = gate.unknown.as_ref();
    if let Some(weight) = weight
        && !(0.0..=1.0).contains(weight.get_ref())
    {
        let message = format!(
            "unknown_weight = {}: write a number from 0.0 to 1.0",
            weight.get_ref()
        );
        return Err((weight.span().start, message));
    }
    match (word.map(|w| *w.get_ref()), weight) {
        (Some(UnknownWord::Weight), Some(weight)) => Ok(Unknown::Weight(*weight.get_ref())),
        (Some(UnknownWord::Weight), None) => Err((
            word.map_or(0, |w| w.span().start),
            "unknown = \"weight\" needs the weight beside it: unknown_weight = 0.5".into(),
        )),
        (_, Some(weight)) => Err((
            weight.span().start,
            "unknown_weight is used with unknown = \"weight\" only: write that, or leave this line out".into(),
        )),
        (Some(UnknownWord::Drop), None) => Ok(Unknown::Drop),
        (Some(UnknownWord::Keep) | None, None) => Ok(Unknown::Keep),
    }
}
