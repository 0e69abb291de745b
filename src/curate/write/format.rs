//! The formats by name.

use serde::Deserialize;

use super::column::Column;
use super::{flat, rl, sft};

/// For whom shards are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Plain Parquet with every column.
    #[default]
    Parquet,
    /// verl, reinforcement learning.
    VerlRl,
    /// verl, supervised fine-tuning.
    VerlSft,
    /// TRL, `SFTTrainer`.
    TrlSft,
    /// TRL, `GRPOTrainer`.
    TrlGrpo,
    /// OpenRLHF.
    Openrlhf,
    /// NeMo-RL.
    NemoRl,
    /// NeMo-Gym.
    NemoGym,
    /// SkyRL.
    Skyrl,
    /// slime.
    Slime,
    /// prime-rl and verifiers.
    PrimeRl,
    /// Compressed JSON lines with every column.
    #[serde(rename = "jsonl.zst")]
    JsonlZst,
    /// MosaicML streaming.
    Mds,
    /// WebDataset.
    Webdataset,
}

/// How rows become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::curate) enum Container {
    Parquet,
    Lines,
    LinesZstd,
    Mds,
    Tar,
}

impl Format {
    /// As in the recipe, and as its folder is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::VerlRl => "verl-rl",
            Self::VerlSft => "verl-sft",
            Self::TrlSft => "trl-sft",
            Self::TrlGrpo => "trl-grpo",
            Self::Openrlhf => "openrlhf",
            Self::NemoRl => "nemo-rl",
            Self::NemoGym => "nemo-gym",
            Self::Skyrl => "skyrl",
            Self::Slime => "slime",
            Self::PrimeRl => "prime-rl",
            Self::JsonlZst => "jsonl.zst",
            Self::Mds => "mds",
            Self::Webdataset => "webdataset",
        }
    }

    pub(in crate::curate) const fn container(self) -> Container {
        match self {
            Self::NemoRl | Self::NemoGym | Self::Slime => Container::Lines,
            Self::JsonlZst => Container::LinesZstd,
            Self::Mds => Container::Mds,
            Self::Webdataset => Container::Tar,
            _ => Container::Parquet,
        }
    }

    pub(in crate::curate) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Parquet | Self::JsonlZst | Self::Mds | Self::Webdataset => &flat::COLUMNS,
            Self::VerlRl => &rl::VERL,
            Self::VerlSft | Self::TrlSft => &sft::CHAT,
            Self::TrlGrpo => &rl::TRL,
            Self::Openrlhf => &rl::OPENRLHF,
            Self::NemoRl => &sft::NEMO_RL,
            Self::NemoGym => &rl::NEMO_GYM,
            Self::Skyrl => &rl::SKYRL,
            Self::Slime => &rl::SLIME,
            Self::PrimeRl => &rl::PRIME,
        }
    }

    /// Where a shard stands below the folder of its format.
    pub(in crate::curate) fn path(self, split: &str, at: usize, of: usize) -> String {
        let ending = match self.container() {
            Container::Parquet => "parquet",
            Container::Lines => "jsonl",
            Container::LinesZstd => "jsonl.zst",
            Container::Tar => "tar",
            Container::Mds => return format!("{split}/{}", super::mds::basename(at)),
        };
        format!("data/{split}-{at:05}-of-{of:05}.{ending}")
    }
}
