//! What the rules of a path say, as a walk goes down and up.

use super::rules::{CompiledRules, Effect};

/// Knows where a walk stands and what holds there. The free one knows nothing
/// and costs nothing: all of it is decided when the walk is compiled.
pub(super) trait Guide {
    /// Whether there are any rules.
    const ACTIVE: bool;
    /// Steps into the value under a key (canonical, quotes included).
    fn key(&mut self, _key: &str) {}
    /// Steps into an element; `None` where elements have no position.
    fn index(&mut self, _index: Option<u32>) {}
    /// Steps out again.
    fn leave(&mut self) {}
    /// What holds here, if anything does.
    fn effect(&self) -> Option<&Effect> {
        None
    }
    /// Whether nothing can hold here nor below.
    fn is_free(&self) -> bool {
        true
    }
    /// Stands at the root again.
    fn rewind(&mut self) {}
}

/// No rules.
pub(super) struct Free;

impl Guide for Free {
    const ACTIVE: bool = false;
}

/// Buffers of a guided walk, kept from pair to pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    active: Vec<u32>,
    /// Where the active nodes of each level start, and what holds there.
    levels: Vec<(usize, Effect)>,
}

/// Follows compiled rules.
pub(super) struct Guided<'r, 't> {
    rules: &'r CompiledRules,
    trail: &'t mut Trail,
}

impl<'r, 't> Guided<'r, 't> {
    pub(super) fn new(rules: &'r CompiledRules, trail: &'t mut Trail) -> Self {
        let mut guide = Self { rules, trail };
        guide.rewind();
        guide
    }

    fn step(&mut self, step: Result<&str, Option<u32>>) {
        let Trail { active, levels } = &mut *self.trail;
        let to = active.len();
        let plain = Effect::default();
        let (from, above) = levels.last().map_or((0, &plain), |(from, e)| (*from, e));
        let effect = self.rules.step(step, above, from, active);
        levels.push((to, effect));
    }
}

impl Guide for Guided<'_, '_> {
    const ACTIVE: bool = true;

    fn key(&mut self, key: &str) {
        self.step(Ok(key));
    }

    fn index(&mut self, index: Option<u32>) {
        self.step(Err(index));
    }

    fn leave(&mut self) {
        if self.trail.levels.len() > 1
            && let Some((from, _)) = self.trail.levels.pop()
        {
            self.trail.active.truncate(from);
        }
    }

    fn effect(&self) -> Option<&Effect> {
        self.trail
            .levels
            .last()
            .map(|(_, effect)| effect)
            .filter(|effect| !effect.is_plain())
    }

    fn is_free(&self) -> bool {
        let from = self.trail.levels.last().map_or(0, |(from, _)| *from);
        self.trail.active.len() == from && self.effect().is_none()
    }

    fn rewind(&mut self) {
        let effect = self.rules.start(&mut self.trail.active);
        self.trail.levels.clear();
        self.trail.levels.push((0, effect));
    }
}
