//! What a pool looks like before anything is bought, and what rounds bought.

/// The calls of a pool by region, with what is known of each without a real call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Places of the units of each region.
    pub regions: Vec<Vec<usize>>,
    /// Features by unit, `width` numbers each.
    pub features: Vec<f64>,
    /// Features per unit; 0: there is no surrogate.
    pub width: usize,
}

impl Frame {
    /// What is known of a unit.
    #[must_use]
    pub fn of(&self, unit: usize) -> &[f64] {
        let from = unit * self.width;
        self.features.get(from..from + self.width).unwrap_or(&[])
    }

    /// The same pool without a surrogate.
    #[must_use]
    pub fn without_features(&self) -> Self {
        Self {
            regions: self.regions.clone(),
            features: Vec::new(),
            width: 0,
        }
    }

    /// Units in all regions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regions.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A unit that was bought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Its place in the frame.
    pub unit: usize,
    /// Its gap, times its reliability: `gap_raw`, in `[-1,1]`, 0 where undefined.
    pub value: f64,
    /// Its reliability, in `[0,1]`; 0 where its gap is undefined.
    pub base: f64,
}

/// One round: what was decided before it, and what it bought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Its part in the estimate, relative to other rounds. Decided before any draw, or the
    /// estimate is biased; the calls that the round was planned to cost will do.
    pub weight: f64,
    /// Units of each region in the order of the draw.
    pub drawn: Vec<Vec<Drawn>>,
    /// Units of each region that became known before this round in another way: by runs that
    /// no plan drew, as prefixes of draws of earlier rounds. They count exactly.
    pub known: Vec<Vec<Drawn>>,
}
