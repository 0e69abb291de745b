//! Topology-aware sampling: walks through the graph of tools, and the recorded runs
//! that follow them best.
//!
//! As in EnvFactory (Xu et al. 2026, arXiv 2605.18703, section on topology-aware
//! sampling): before a tool is used, what it needs is resolved backwards through
//! producers; then some of its unvisited successors follow. There the walk is
//! given to a model that makes a task of it; here it chooses among recorded runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::coverage::Unit;
use crate::stats::Chance;

/// How far producers are resolved backwards.
const DEPTH: usize = 3;

/// A walk ends with this many tools.
const LONGEST: usize = 12;

/// A tool graph; tools are small numbers.
#[derive(Clone, Debug, Default)]
pub struct ToolGraph {
    tools: Vec<u32>,
    after: BTreeMap<u32, BTreeSet<u32>>,
    before: BTreeMap<u32, BTreeSet<u32>>,
}

/// The tools and edges of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Tools, in the order in which they were met.
    pub tools: Vec<u32>,
    /// Producer and consumer.
    pub edges: BTreeSet<(u32, u32)>,
}

impl ToolGraph {
    /// From tools and from edges (producer, consumer).
    #[must_use]
    pub fn new(
        tools: impl IntoIterator<Item = u32>,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Self {
        let mut graph = Self::default();
        let mut all: BTreeSet<u32> = tools.into_iter().collect();
        for (from, to) in edges {
            all.extend([from, to]);
            graph.after.entry(from).or_default().insert(to);
            graph.before.entry(to).or_default().insert(from);
        }
        graph.tools = all.into_iter().collect();
        graph
    }

    /// Number of tools.
    #[must_use]
    pub fn tools(&self) -> usize {
        self.tools.len()
    }

    /// Number of edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.after.values().map(BTreeSet::len).sum()
    }

    /// A walk from a tool taken at random: its needs first, then between one and all
    /// of its unvisited successors, from the last of which it goes on.
    #[must_use]
    pub fn walk(&self, chance: &mut Chance) -> Walk {
        let mut walk = Walk::default();
        if self.tools.is_empty() {
            return walk;
        }
        let mut now = self.tools[chance.below(self.tools.len())];
        self.visit(now, &mut walk, chance);
        while walk.tools.len() < LONGEST {
            let mut next = self.unvisited(&self.after, now, &walk);
            if next.is_empty() {
                break;
            }
            shuffle(&mut next, chance);
            next.truncate(1 + chance.below(next.len()));
            for tool in next {
                walk.edges.insert((now, tool));
                self.visit(tool, &mut walk, chance);
                if walk.tools.len() >= LONGEST {
                    break;
                }
            }
            let Some(last) = walk.tools.last() else { break };
            now = *last;
        }
        walk
    }

    /// A tool, and before it one producer of what it needs, and so on backwards.
    fn visit(&self, tool: u32, walk: &mut Walk, chance: &mut Chance) {
        let mut chain = vec![tool];
        let mut now = tool;
        for _ in 0..DEPTH {
            let producers = self.unvisited(&self.before, now, walk);
            let producers: Vec<u32> = producers
                .into_iter()
                .filter(|p| !chain.contains(p))
                .collect();
            // What an earlier tool of the walk gives is there already.
            let there = self
                .before
                .get(&now)
                .is_some_and(|all| all.iter().any(|p| walk.tools.contains(p)));
            if producers.is_empty() || there {
                break;
            }
            let producer = producers[chance.below(producers.len())];
            walk.edges.insert((producer, now));
            chain.push(producer);
            now = producer;
        }
        for tool in chain.into_iter().rev() {
            if !walk.tools.contains(&tool) {
                walk.tools.push(tool);
            }
        }
    }

    fn unvisited(&self, edges: &BTreeMap<u32, BTreeSet<u32>>, of: u32, walk: &Walk) -> Vec<u32> {
        let all = edges.get(&of).into_iter().flatten().copied();
        all.filter(|tool| !walk.tools.contains(tool)).collect()
    }
}

fn shuffle(list: &mut [u32], chance: &mut Chance) {
    for at in (1..list.len()).rev() {
        list.swap(at, chance.below(at + 1));
    }
}

/// Chooses units up to `rows` rows: for each walk the unused unit whose features
/// agree best with those of the walk (2 |both| / (|walk| + |unit|), of equals the
/// earlier one). `features` names the features of a walk; units that do not fit are
/// passed over. Returns places in the order of choice.
#[must_use]
pub fn by_walks(
    graph: &ToolGraph,
    units: &[Unit],
    rows: usize,
    chance: &mut Chance,
    features: &dyn Fn(&Walk) -> Vec<u32>,
) -> Vec<usize> {
    // Units of equal features are one class, with a queue; a walk looks at classes.
    let mut classes: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        classes.entry(&unit.features).or_default().push(at);
    }
    let mut classes: Vec<(&[u32], Vec<usize>)> = classes.into_iter().collect();
    classes.iter_mut().for_each(|(_, queue)| queue.reverse());
    classes.sort_by_key(|(_, queue)| queue.last().copied());
    let mut holding: HashMap<u32, Vec<usize>> = HashMap::new();
    for (class, (list, _)) in classes.iter().enumerate() {
        list.iter()
            .for_each(|f| holding.entry(*f).or_default().push(class));
    }
    let (mut chosen, mut left) = (Vec::new(), rows);
    let mut open: BTreeSet<usize> = (0..classes.len()).collect();
    while left > 0 && !open.is_empty() {
        let wanted = features(&graph.walk(chance));
        let mut both: HashMap<usize, usize> = HashMap::new();
        for class in wanted.iter().filter_map(|f| holding.get(f)).flatten() {
            if open.contains(class) {
                *both.entry(*class).or_default() += 1;
            }
        }
        let score = |class: usize, both: usize| {
            2.0 * both as f64 / (wanted.len() + classes[class].0.len()) as f64
        };
        let best = both
            .iter()
            .map(|(class, both)| (score(*class, *both), *class));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        // A walk that no unit follows takes the first that is left.
        let Some(class) = best
            .map(|(_, class)| class)
            .or_else(|| open.first().copied())
        else {
            break;
        };
        let unit = classes[class].1.pop();
        if classes[class].1.is_empty() {
            open.remove(&class);
        }
        if let Some(at) = unit.filter(|at| units[*at].rows.max(1) <= left) {
            left -= units[at].rows.max(1);
            chosen.push(at);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 -> 1 -> 2, 0 -> 3; 4 alone.
    fn graph() -> ToolGraph {
        ToolGraph::new([4], [(0, 1), (1, 2), (0, 3)])
    }

    #[test]
    fn walks_follow_edges_and_resolve_needs() {
        let graph = graph();
        assert_eq!((graph.tools(), graph.edges()), (5, 3));
        let mut chance = Chance::new(1);
        let mut met = BTreeSet::new();
        for _ in 0..200 {
            let walk = graph.walk(&mut chance);
            for (from, to) in &walk.edges {
                assert!(graph.after[from].contains(to));
            }
            // Whatever is used, what it needs comes before it.
            for (at, tool) in walk.tools.iter().enumerate() {
                let needs = graph.before.get(tool);
                assert!(
                    needs.is_none_or(|needs| needs.iter().any(|n| walk.tools[..at].contains(n))),
                    "{walk:?}"
                );
            }
            met.extend(walk.tools);
        }
        assert_eq!(met.len(), 5);
        assert_eq!(ToolGraph::default().walk(&mut chance), Walk::default());
        // A circle ends.
        let circle = ToolGraph::new([], [(0, 1), (1, 0), (1, 1)]);
        assert!(circle.walk(&mut chance).tools.len() <= 2);
    }

    #[test]
    fn walks_choose_the_runs_that_follow_them() {
        let unit = |features: &[u32]| Unit {
            rows: 1,
            features: features.to_vec(),
        };
        // Features: the tools. Ninety equal short runs, three others.
        let mut units: Vec<Unit> = (0..90).map(|_| unit(&[4])).collect();
        units.extend([unit(&[0, 1]), unit(&[0, 1, 2]), unit(&[0, 3])]);
        let tools = |walk: &Walk| walk.tools.clone();
        let chosen = by_walks(&graph(), &units, 20, &mut Chance::new(7), &tools);
        assert_eq!(chosen.len(), 20);
        assert!(
            [90, 91, 92].iter().all(|at| chosen[..12].contains(at)),
            "{chosen:?}"
        );
        assert_eq!(
            chosen,
            by_walks(&graph(), &units, 20, &mut Chance::new(7), &tools)
        );
        let all = by_walks(&graph(), &units, 1_000, &mut Chance::new(7), &tools);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 93);
    }
}
