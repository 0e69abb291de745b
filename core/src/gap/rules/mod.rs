//! Rules per API and path: what is ignored, how arrays pair, how leaves compare.

mod action;
mod compiled;
mod glob;
mod pattern;

use std::collections::HashMap;

pub use action::{ArrayRule, ContentClass, RuleAction};
pub use compiled::CompiledRules;
pub(in crate::gap) use compiled::{Effect, Pairing};
use pattern::Step;
pub use pattern::{MAX_STEPS, RuleErrorKind};

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRule {
    /// The environments it holds for; `*` stands for any text.
    pub environment: String,
    /// The APIs (tools) it holds for; `*` stands for any text.
    pub api: String,
    /// The paths it holds for: `$.a.b`, `$.items[*].id` (any element),
    /// `$.items[0]`, `$.*` (any key), `$["odd key"]`, `$..updated_at` (at any
    /// depth). Names after a point hold letters, digits, `_` and `-`.
    pub path: String,
    /// What holds there.
    pub action: RuleAction,
    /// It was learned: whatever people say of the same path holds before it.
    pub learned: bool,
}

impl PathRule {
    /// A rule for every API.
    #[must_use]
    pub fn new(path: impl Into<String>, action: RuleAction) -> Self {
        Self {
            environment: "*".to_owned(),
            api: "*".to_owned(),
            path: path.into(),
            action,
            learned: false,
        }
    }

    /// The same rule as one that was learned.
    #[must_use]
    pub fn learned(mut self) -> Self {
        self.learned = true;
        self
    }

    /// The same rule for these environments and APIs only.
    #[must_use]
    pub fn within(mut self, environment: impl Into<String>, api: impl Into<String>) -> Self {
        self.environment = environment.into();
        self.api = api.into();
        self
    }
}

/// A rule that cannot be read: which, and where in its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule} ({path}), byte {offset}: {kind}")]
pub struct RuleError {
    /// The position of the rule, from 0.
    pub rule: usize,
    /// Its path.
    pub path: String,
    /// Where in the path, in bytes; the length of the path if its action is at fault.
    pub offset: usize,
    /// What is wrong.
    pub kind: RuleErrorKind,
}

/// A checked set of rules.
///
/// Of several rules that match one path what people say wins over what was
/// learned, then the most specific: the one that
/// names more steps, then one without `..`, then the one with more `*` steps,
/// then the one whose environment and API are named more closely, then the
/// later one. `ignore` holds where it wins over all others; of the other
/// actions each kind is decided by itself.
///
/// ```
/// use fidelake_core::gap::{Answer, Comparer, PathRule, PathRules, RuleAction};
/// let rules = PathRules::new(vec![
///     PathRule::new("$..updated_at", RuleAction::Ignore),
///     PathRule::new("$.tags", RuleAction::parse("multiset").unwrap()).within("shop", "get_*"),
/// ]).unwrap();
/// let chosen = rules.select("shop", "get_item");
/// let (a, b) = (r#"{"tags":[1,2],"updated_at":1}"#, r#"{"tags":[2,1],"updated_at":2}"#);
/// let gap = Comparer::default().observe_with(Some(&chosen), Answer::json(a), Answer::json(b));
/// assert_eq!((gap.gap, gap.union), (0.0, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    rules: Vec<(PathRule, Vec<Step>)>,
}

impl PathRules {
    /// Checks and reads the rules.
    ///
    /// # Errors
    /// The first rule whose path or value cannot be read.
    pub fn new(rules: Vec<PathRule>) -> Result<Self, RuleError> {
        let mut read = Vec::with_capacity(rules.len());
        for (at, rule) in rules.into_iter().enumerate() {
            let fault = |(offset, kind)| RuleError {
                rule: at,
                path: rule.path.clone(),
                offset,
                kind,
            };
            let steps = pattern::parse(&rule.path).map_err(fault)?;
            if let Some((action, wants)) = rule.action.fault() {
                let value = rule.action.value();
                let kind = RuleErrorKind::BadValue {
                    action,
                    value,
                    wants,
                };
                return Err(fault((rule.path.len(), kind)));
            }
            read.push((rule, steps));
        }
        Ok(Self { rules: read })
    }

    /// The rules as given.
    pub fn iter(&self) -> impl Iterator<Item = &PathRule> {
        self.rules.iter().map(|(rule, _)| rule)
    }

    /// Whether there is no rule at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules for one API, compiled; see [`RuleCache`] for many calls.
    #[must_use]
    pub fn select(&self, environment: &str, api: &str) -> CompiledRules {
        let mut chosen: Vec<_> = self
            .rules
            .iter()
            .filter(|(rule, _)| {
                glob::matches(&rule.environment, environment) && glob::matches(&rule.api, api)
            })
            .map(|(rule, steps)| {
                let scope = glob::specificity(&rule.environment) + glob::specificity(&rule.api);
                let standing = (!rule.learned, scope);
                (steps.as_slice(), rule.path.as_str(), standing, &rule.action)
            })
            .collect();
        // Stable: of equal scopes the later stays the later. The fingerprint sees this order.
        chosen.sort_by_key(|(_, _, standing, _)| *standing);
        CompiledRules::new(chosen.into_iter())
    }
}

/// Remembers the compiled rules per environment and API, for loops over calls.
#[derive(Clone, Debug)]
pub struct RuleCache<'r> {
    rules: &'r PathRules,
    found: HashMap<String, HashMap<String, CompiledRules>>,
    held: usize,
}

/// So many APIs are remembered at most; then it starts anew.
const MAX_CACHED: usize = 16_384;

impl<'r> RuleCache<'r> {
    /// Nothing compiled yet.
    #[must_use]
    pub fn new(rules: &'r PathRules) -> Self {
        Self {
            rules,
            found: HashMap::new(),
            held: 0,
        }
    }

    /// The rules for this API; `None` if none applies, so that
    /// [`Comparer::observe_with`](super::Comparer::observe_with) takes the plain way.
    pub fn get(&mut self, environment: &str, api: &str) -> Option<&CompiledRules> {
        if self.rules.is_empty() {
            return None;
        }
        let known = self
            .found
            .get(environment)
            .is_some_and(|apis| apis.contains_key(api));
        if !known {
            if self.held >= MAX_CACHED {
                self.found.clear();
                self.held = 0;
            }
            let compiled = self.rules.select(environment, api);
            let apis = self.found.entry(environment.to_owned()).or_default();
            apis.insert(api.to_owned(), compiled);
            self.held += 1;
        }
        let found = self.found.get(environment)?.get(api)?;
        (!found.is_empty()).then_some(found)
    }
}
