//! The parts of a recipe that say what is written: `[output]`, `[privacy]`,
//! `[repair]`.

use fidelake_core::mask::Mode;
use serde::Deserialize;
use toml::Spanned;

use super::recipe::Arm;
use super::write::{Container, Format};

/// Bytes of a shard where the recipe does not say: what `datasets` writes.
const MAX_SHARD_BYTES: u64 = 500_000_000;

/// Offsets in an MDS shard have 32 bits, and what is written is larger than the
/// payload it is made of.
const MAX_MDS_BYTES: u64 = 1_000_000_000;

/// A mistake: where it stands, and what would be right.
type Mistake = (usize, String);

/// `[output]`
#[derive(Clone, Debug)]
pub struct OutputPart {
    /// For whom shards are written; several get a folder each.
    pub formats: Vec<Format>,
    /// Most rows of a shard.
    pub rows_per_shard: Option<u64>,
    /// A shard ends when its payload has this size.
    pub max_shard_bytes: u64,
    /// License, as the Hugging Face hub names it.
    pub license: Option<String>,
    /// Name for people.
    pub name: Option<String>,
}

/// `[privacy]`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyPart {
    /// How much is masked in what is written.
    #[serde(default)]
    pub mask: Mask,
}

/// How much is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mask {
    /// Nothing more than at import.
    #[default]
    Off,
    /// Passwords, keys, tokens, cookies.
    Secrets,
    /// E-mail addresses and telephone numbers too.
    All,
}

/// `[repair]`
#[derive(Clone, Copy, Debug, Default)]
pub struct RepairPart {
    /// Rows with f below this are repaired where they can be.
    pub below: Option<f64>,
}

impl Mask {
    /// The mode of the mask rules.
    #[must_use]
    pub const fn mode(self) -> Mode {
        match self {
            Self::Off => Mode::Off,
            Self::Secrets => Mode::Secrets,
            Self::All => Mode::All,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputFile {
    formats: Option<Spanned<Vec<Spanned<Format>>>>,
    rows_per_shard: Option<Spanned<i64>>,
    max_shard_bytes: Option<Spanned<i64>>,
    license: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepairFile {
    below: Option<Spanned<f64>>,
}

pub(super) fn repair_part(file: &RepairFile, arm: Arm) -> Result<RepairPart, Mistake> {
    let Some(below) = &file.below else {
        return Ok(RepairPart::default());
    };
    let at = below.span().start;
    if arm == Arm::Real {
        let message = "[repair] puts answers of the real arm into rows of the sim arm: write [source] arm = \"sim\", or leave it out";
        return Err((at, message.into()));
    }
    if !(*below.get_ref() > 0.0 && *below.get_ref() <= 1.0) {
        let message = format!(
            "below = {}: write a fidelity above 0.0 and up to 1.0; rows below it are repaired",
            below.get_ref()
        );
        return Err((at, message));
    }
    Ok(RepairPart {
        below: Some(*below.get_ref()),
    })
}

pub(super) fn output_part(file: OutputFile) -> Result<OutputPart, Mistake> {
    let formats = formats(file.formats.as_ref())?;
    let max_shard_bytes = positive("max_shard_bytes", file.max_shard_bytes.as_ref())?;
    if formats.iter().any(|f| f.container() == Container::Mds)
        && let (Some(given), Some(bytes)) = (&file.max_shard_bytes, max_shard_bytes)
        && bytes > MAX_MDS_BYTES
    {
        let message = format!(
            "max_shard_bytes = {bytes}: a shard of the format mds holds at most {MAX_MDS_BYTES}"
        );
        return Err((given.span().start, message));
    }
    Ok(OutputPart {
        formats,
        rows_per_shard: positive("rows_per_shard", file.rows_per_shard.as_ref())?,
        max_shard_bytes: max_shard_bytes.unwrap_or(MAX_SHARD_BYTES),
        license: line("license", file.license)?,
        name: line("name", file.name)?,
    })
}

fn formats(given: Option<&Spanned<Vec<Spanned<Format>>>>) -> Result<Vec<Format>, Mistake> {
    let Some(given) = given else {
        return Ok(vec![Format::default()]);
    };
    let mut formats: Vec<Format> = Vec::new();
    for format in given.get_ref() {
        if formats.contains(format.get_ref()) {
            let message = format!("formats: {:?} is named twice", format.get_ref().name());
            return Err((format.span().start, message));
        }
        formats.push(*format.get_ref());
    }
    if formats.is_empty() {
        let message = "formats: name at least one, such as \"parquet\", or leave the line out";
        return Err((given.span().start, message.into()));
    }
    Ok(formats)
}

fn positive(name: &str, given: Option<&Spanned<i64>>) -> Result<Option<u64>, Mistake> {
    let Some(given) = given else { return Ok(None) };
    match u64::try_from(*given.get_ref()) {
        Ok(number @ 1..) => Ok(Some(number)),
        _ => {
            let message = format!(
                "{name} = {}: write a whole number from 1 on",
                given.get_ref()
            );
            Err((given.span().start, message))
        }
    }
}

fn line(name: &str, given: Option<Spanned<String>>) -> Result<Option<String>, Mistake> {
    let Some(given) = given else { return Ok(None) };
    if given.get_ref().trim().is_empty() || given.get_ref().contains(['\n', '\r']) {
        let message = format!("{name}: write one line of text, or leave it out");
        return Err((given.span().start, message));
    }
    Ok(Some(given.into_inner()))
}
