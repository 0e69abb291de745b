//! Means of groups over items that are drawn anew: what a bootstrap over items needs.

use super::chance::Chance;
use super::sum::ExactSum;

/// Sums and counts of several measures by group and item. Every item belongs to all
/// groups in which it has values: drawn once, it is drawn in all of them.
#[derive(Clone, Debug)]
pub struct Cells {
    groups: usize,
    items: usize,
    /// (sum, count) by measure, group, item.
    cells: Vec<(f64, f64)>,
}

impl Cells {
    /// Empty cells.
    #[must_use]
    pub fn new(measures: usize, groups: usize, items: usize) -> Self {
        Self {
            groups,
            items,
            cells: vec![(0.0, 0.0); measures * groups * items],
        }
    }

    fn row(&self, measure: usize, group: usize) -> std::ops::Range<usize> {
        let from = (measure * self.groups + group) * self.items;
        from..from + self.items
    }

    /// Adds a value; what lies outside is left out.
    pub fn add(&mut self, measure: usize, group: usize, item: usize, value: f64) {
        if group < self.groups && item < self.items {
            let at = self.row(measure, group).start + item;
            if let Some((sum, count)) = self.cells.get_mut(at) {
                *sum += value;
                *count += 1.0;
            }
        }
    }

    /// The mean of every group, each item as often as it was drawn (`None`: once).
    /// `None` for groups without values.
    #[must_use]
    pub fn means(&self, measure: usize, drawn: Option<&[f64]>) -> Vec<Option<f64>> {
        let mean = |group: usize| {
            let cells = self.cells.get(self.row(measure, group))?;
            let (sum, count) = match drawn {
                Some(drawn) => cells
                    .iter()
                    .zip(drawn)
                    .fold((0.0, 0.0), |all, (own, times)| {
                        (all.0 + own.0 * times, all.1 + own.1 * times)
                    }),
                None => {
                    let mut sum = ExactSum::default();
                    cells.iter().for_each(|own| sum.add(own.0));
                    (sum.value(), cells.iter().map(|own| own.1).sum())
                }
            };
            (count > 0.0).then(|| sum / count)
        };
        (0..self.groups).map(mean).collect()
    }

    /// How often each item is drawn, drawing as many as there are with replacement.
    pub fn draw(&self, chance: &mut Chance) -> Vec<f64> {
        let mut drawn = vec![0.0; self.items];
        for _ in 0..self.items {
            drawn[chance.below(self.items)] += 1.0;
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_by_hand() {
        let mut cells = Cells::new(2, 2, 3);
        for (group, item, value) in [(0, 0, 1.0), (0, 1, 0.0), (0, 1, 0.5), (1, 2, 0.25)] {
            cells.add(1, group, item, value);
        }
        cells.add(1, 7, 0, 9.0);
        assert_eq!(cells.means(1, None), [Some(0.5), Some(0.25)]);
        assert_eq!(cells.means(0, None), [None, None]);
        // The second item twice, the third never.
        let means = cells.means(1, Some(&[1.0, 2.0, 0.0]));
        assert_eq!(means, [Some(2.0 / 5.0), None]);
        let drawn = cells.draw(&mut Chance::new(3));
        assert_eq!(drawn.iter().sum::<f64>(), 3.0);
    }
}
