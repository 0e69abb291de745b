//! The rules of one API as a tree of steps, which a walk follows downwards.

use super::action::{ArrayRule, ContentClass, RuleAction};
use super::pattern::Step;
use crate::json::key::Key;
use crate::json::push_json_string;

/// What decides between two rules for one path: what was said before what was
/// learned, what the pattern names, then what the scope names, then which comes later.
type Rank = (bool, (usize, bool, usize), usize, usize);

/// The rules that apply to one API, ready to be followed. Immutable, cheap to share.
#[derive(Clone, Debug)]
pub struct CompiledRules {
    nodes: Vec<TrieNode>,
    fingerprint: Key,
    len: usize,
}

#[derive(Clone, Debug, Default)]
struct TrieNode {
    /// Sorted by key (canonical JSON, quotes included).
    keys: Vec<(Box<str>, u32)>,
    indexes: Vec<(u32, u32)>,
    any_key: Option<u32>,
    any_index: Option<u32>,
    /// The node of `..`, which stays active all the way down.
    deep: Option<u32>,
    is_deep: bool,
    rules: Vec<(Rank, Effect)>,
}

/// What all rules together say about one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gap) struct Effect {
    pub(in crate::gap) ignore: bool,
    pub(in crate::gap) array: Pairing,
    pub(in crate::gap) precision: Option<f64>,
    pub(in crate::gap) class: Option<ContentClass>,
    pub(in crate::gap) cosmetic: Option<f64>,
}

/// [`ArrayRule`], with the field as a key of canonical JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gap) enum Pairing {
    #[default]
    Ordered,
    Set,
    Multiset,
    KeyBy(std::sync::Arc<str>),
}

impl Effect {
    fn of(action: &RuleAction) -> Self {
        let mut effect = Self::default();
        match action {
            RuleAction::Ignore => effect.ignore = true,
            RuleAction::Array(ArrayRule::Ordered) => {}
            RuleAction::Array(ArrayRule::Set) => effect.array = Pairing::Set,
            RuleAction::Array(ArrayRule::Multiset) => effect.array = Pairing::Multiset,
            RuleAction::Array(ArrayRule::KeyBy(field)) => {
                let mut key = String::new();
                push_json_string(field, &mut key);
                effect.array = Pairing::KeyBy(key.into());
            }
            RuleAction::Precision(x) => effect.precision = Some(*x),
            RuleAction::Class(class) => effect.class = Some(*class),
            RuleAction::Cosmetic(w) => effect.cosmetic = Some(*w),
        }
        effect
    }

    /// Nothing but the defaults.
    pub(in crate::gap) fn is_plain(&self) -> bool {
        !self.ignore
            && self.array == Pairing::Ordered
            && self.precision.is_none()
            && self.class.is_none()
            && self.cosmetic.is_none()
    }
}

impl CompiledRules {
    /// From rules in order of their standing, weakest first: steps, pattern,
    /// whether it was said, specificity of the scope, action.
    pub(super) fn new<'r>(
        rules: impl Iterator<Item = (&'r [Step], &'r str, (bool, usize), &'r RuleAction)>,
    ) -> Self {
        let mut found = Self {
            nodes: vec![TrieNode::default()],
            fingerprint: Key::of(b""),
            len: 0,
        };
        let mut said: Vec<String> = vec![];
        for (order, (steps, path, (was_said, scope), action)) in rules.enumerate() {
            let mut at = 0;
            for step in steps {
                at = found.child(at, step);
            }
            let rank = (was_said, super::pattern::specificity(steps), scope, order);
            found.nodes[at as usize]
                .rules
                .push((rank, Effect::of(action)));
            found.len += 1;
            said.push(path.to_owned());
            said.push(action.to_string());
        }
        let parts: Vec<&str> = said.iter().map(String::as_str).collect();
        found.fingerprint = Key::of_parts(&parts);
        found
    }

    fn child(&mut self, at: u32, step: &Step) -> u32 {
        let fresh = self.nodes.len() as u32;
        let node = &mut self.nodes[at as usize];
        let found = match step {
            Step::Key(key) => match node.keys.binary_search_by(|(k, _)| (**k).cmp(key)) {
                Ok(place) => node.keys[place].1,
                Err(place) => {
                    node.keys.insert(place, (key.as_str().into(), fresh));
                    fresh
                }
            },
            Step::Index(index) => match node.indexes.binary_search_by_key(index, |(i, _)| *i) {
                Ok(place) => node.indexes[place].1,
                Err(place) => {
                    node.indexes.insert(place, (*index, fresh));
                    fresh
                }
            },
            Step::AnyKey => *node.any_key.get_or_insert(fresh),
            Step::AnyIndex => *node.any_index.get_or_insert(fresh),
            Step::Deep => *node.deep.get_or_insert(fresh),
        };
        if found == fresh {
            self.nodes.push(TrieNode {
                is_deep: *step == Step::Deep,
                ..TrieNode::default()
            });
        }
        found
    }

    /// Names these rules: their paths and actions, in order. What a profile was
    /// computed with is stored beside it, so that only what a rule touches is
    /// computed again.
    #[must_use]
    pub const fn fingerprint(&self) -> Key {
        self.fingerprint
    }

    /// How many rules.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is ruled here.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a node that became active, and the `..` below it.
    fn activate(&self, node: u32, from: usize, active: &mut Vec<u32>) {
        if active[from..].contains(&node) {
            return;
        }
        active.push(node);
        if let Some(deep) = self.nodes[node as usize].deep {
            self.activate(deep, from, active);
        }
    }

    pub(in crate::gap) fn start(&self, active: &mut Vec<u32>) -> Effect {
        active.clear();
        self.activate(0, 0, active);
        self.effect(&Effect::default(), active)
    }

    /// Follows one step from the nodes active since `from`; what comes out is
    /// appended. `None` is an element without a position.
    pub(in crate::gap) fn step(
        &self,
        step: Result<&str, Option<u32>>,
        above: &Effect,
        from: usize,
        active: &mut Vec<u32>,
    ) -> Effect {
        let to = active.len();
        for place in from..to {
            let at = active[place];
            let node = &self.nodes[at as usize];
            if node.is_deep {
                self.activate(at, to, active);
            }
            let (named, any) = match step {
                Ok(key) => {
                    let place = node.keys.binary_search_by(|(k, _)| (**k).cmp(key));
                    (place.ok().map(|place| node.keys[place].1), node.any_key)
                }
                Err(index) => {
                    let place = index.and_then(|index| {
                        node.indexes.binary_search_by_key(&index, |(i, _)| *i).ok()
                    });
                    (place.map(|place| node.indexes[place].1), node.any_index)
                }
            };
            for next in named.into_iter().chain(any) {
                self.activate(next, to, active);
            }
        }
        self.effect(above, &active[to..])
    }

    /// What holds at a path: what its own rules say, else what holds above.
    fn effect(&self, above: &Effect, active: &[u32]) -> Effect {
        let mut out = Effect {
            ignore: false,
            array: Pairing::Ordered,
            precision: above.precision,
            class: above.class,
            cosmetic: above.cosmetic,
        };
        let own = || active.iter().flat_map(|at| &self.nodes[*at as usize].rules);
        let best = |says: fn(&Effect) -> bool| {
            own().filter(|(_, e)| says(e)).max_by_key(|(rank, _)| *rank)
        };
        let Some((_, top)) = own().max_by_key(|(rank, _)| *rank) else {
            return out;
        };
        out.ignore = top.ignore;
        // `ordered` sets nothing and so takes part in every choice.
        let array = |e: &Effect| {
            !e.ignore && e.precision.is_none() && e.class.is_none() && e.cosmetic.is_none()
        };
        if let Some((_, e)) = best(array) {
            out.array = e.array.clone();
        }
        if let Some((_, e)) = best(|e| e.precision.is_some()) {
            out.precision = e.precision;
        }
        if let Some((_, e)) = best(|e| e.class.is_some()) {
            out.class = e.class;
        }
        if let Some((_, e)) = best(|e| e.cosmetic.is_some()) {
            out.cosmetic = e.cosmetic;
        }
        out
    }
}
