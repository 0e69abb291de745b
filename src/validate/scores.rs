//! What each group scores, by every measure, over all items or over a draw of them.

use fidelake_core::stats::{Cells, Chance, quantile, spearman};

use super::data::Data;

/// Measures by group. Those from [`Measure::AGENTS`] on are the harm of single agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure(usize);

impl Measure {
    pub(super) const HARM: Self = Self(0);
    pub(super) const NET: Self = Self(1);
    pub(super) const DECISION: Self = Self(2);
    pub(super) const SURFACE: Self = Self(3);
    pub(super) const ADDED: Self = Self(4);
    pub(super) const CHANGED: Self = Self(5);
    /// obs, act, rew, trans.
    pub(super) const PARTS: [Self; 4] = [Self(6), Self(7), Self(8), Self(9)];
    /// Every trajectory floored for itself: mean of `gap_decision`.
    pub(super) const FLOORED: Self = Self(10);
    /// Answers, acceptance.
    const RAN: [Self; 2] = [Self(11), Self(12)];
    /// The gaps that f is the product of, without verdicts.
    pub(super) const OF_LOSS: [Self; 4] =
        [Self::DECISION, Self::RAN[0], Self::RAN[1], Self::PARTS[3]];
    const AGENTS: usize = 13;

    pub(super) const fn of_agent(agent: usize) -> Self {
        Self(Self::AGENTS + agent)
    }

    /// Gaps are floored once, after averaging.
    const fn is_gap(self) -> bool {
        self.0 == Self::DECISION.0 || self.0 >= Self::PARTS[0].0 && self.0 <= Self::PARTS[3].0
    }
}

/// One number per group; `None` where it has none.
pub(super) type ByGroup = Vec<Option<f64>>;

/// The scores of the groups that take part.
pub(super) struct Scores {
    cells: Cells,
    /// The groups that take part.
    pub(super) used: Vec<usize>,
}

impl Scores {
    pub(super) fn of(data: &Data, used: Vec<usize>) -> Self {
        let measures = Measure::AGENTS + data.agents.all.len();
        let (groups, tasks) = (data.labels.all.len(), data.tasks.all.len());
        let mut cells = Cells::new(measures, groups, tasks);
        for item in &data.items {
            let mut add = |measure: Measure, value: Option<f64>| {
                if let Some(value) = value {
                    cells.add(measure.0, item.group, item.task, value);
                }
            };
            add(Measure::DECISION, item.signed);
            add(
                Measure::FLOORED,
                item.signed.map(|signed| signed.clamp(0.0, 1.0)),
            );
            add(Measure::SURFACE, item.surface);
            for (measure, gap) in Measure::RAN.into_iter().zip(item.ran) {
                add(measure, gap);
            }
            add(Measure::ADDED, item.added);
            add(Measure::CHANGED, Some(item.changed));
            for (measure, part) in Measure::PARTS.into_iter().zip(item.parts) {
                add(measure, part);
            }
        }
        for judged in &data.judged {
            let item = &data.items[judged.item];
            let broken = judged.broken();
            for (measure, value) in [
                (Measure::HARM, broken),
                (Measure::NET, judged.sim - judged.real),
                (Measure::of_agent(judged.agent), broken),
            ] {
                cells.add(measure.0, item.group, item.task, value);
            }
        }
        Self { cells, used }
    }

    /// Every group's mean, floored where it is a gap.
    pub(super) fn all(&self, measure: Measure, drawn: Option<&[f64]>) -> ByGroup {
        let mut means = self.cells.means(measure.0, drawn);
        if measure.is_gap() {
            let floored = means.iter_mut().flatten();
            // A sum of nothing is -0.0, which would be printed so.
            floored.for_each(|mean| *mean = mean.clamp(0.0, 1.0) + 0.0);
        }
        means
    }

    /// The same of the groups that take part.
    pub(super) fn means(&self, measure: Measure, drawn: Option<&[f64]>) -> ByGroup {
        let all = self.all(measure, drawn);
        self.used.iter().map(|&group| all[group]).collect()
    }

    /// So many draws of the items; the same for the same seed.
    pub(super) fn draws(&self, resamples: usize, seed: u64) -> impl Iterator<Item = Vec<f64>> {
        let mut chance = Chance::new(seed);
        (0..resamples).map(move |_| self.cells.draw(&mut chance))
    }
}

/// Rank correlation over the groups that have both.
pub(super) fn rho(a: &[Option<f64>], b: &[Option<f64>]) -> Option<f64> {
    let (a, b) = both(a, b);
    spearman(&a, &b)
}

/// The pairs that have both.
pub(super) fn both(a: &[Option<f64>], b: &[Option<f64>]) -> (Vec<f64>, Vec<f64>) {
    let pairs = a.iter().zip(b).filter_map(|(a, b)| a.zip(*b));
    pairs.unzip()
}

/// The 95 % interval of draws; `None` if fewer than half gave a number.
pub(super) fn interval(draws: &[Option<f64>]) -> Option<[f64; 2]> {
    let found: Vec<f64> = draws.iter().copied().flatten().collect();
    if found.len() * 2 < draws.len() {
        return None;
    }
    Some([quantile(&found, 0.025)?, quantile(&found, 0.975)?])
}
