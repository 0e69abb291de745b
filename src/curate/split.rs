//! Which part of the data set a row belongs to.

/// A part of the data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Split {
    #[default]
    Train,
    Validation,
    Test,
}

impl Split {
    /// As in file names.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}
