//! Worlds between two worlds: each dimension is taken from one arm or the other.

/// A dimension of what an agent is told and offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Task text, descriptions, observations.
    Obs,
    /// Tools and what they accept.
    Act,
    /// Names of tools, and texts of cost, latency and endorsement.
    Rew,
}

impl Dimension {
    /// In the order of columns.
    pub const ALL: [Self; 3] = [Self::Obs, Self::Act, Self::Rew];

    const fn bit(self) -> u8 {
        match self {
            Self::Obs => 1,
            Self::Act => 2,
            Self::Rew => 4,
        }
    }
}

/// Which dimensions come from `real`; the others come from `sim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mix(u8);

impl Mix {
    /// How many there are.
    pub const COUNT: usize = 8;
    /// The `sim` world.
    pub const SIM: Self = Self(0);
    /// The `real` world.
    pub const REAL: Self = Self(7);

    /// All of them, [`Self::SIM`] first, [`Self::REAL`] last.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..8).map(Self)
    }

    /// Its place in [`Self::all`].
    #[must_use]
    pub const fn place(self) -> usize {
        self.0 as usize
    }

    /// Whether a dimension comes from `real`.
    #[must_use]
    pub const fn real(self, dimension: Dimension) -> bool {
        self.0 & dimension.bit() != 0
    }

    /// 1 if a dimension comes from `real`, else 0: an index into [sim, real].
    #[must_use]
    pub const fn arm(self, dimension: Dimension) -> usize {
        self.real(dimension) as usize
    }

    /// The same with one more dimension from `real`.
    #[must_use]
    pub const fn with(self, dimension: Dimension) -> Self {
        Self(self.0 | dimension.bit())
    }

    /// How many dimensions come from `real`.
    #[must_use]
    pub const fn size(self) -> usize {
        self.0.count_ones() as usize
    }
}
