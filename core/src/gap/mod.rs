//! Distances between what two worlds answered.
//!
//! Every number is defined in docs/measures.md; each module says which part it
//! implements and what it decided where the text is silent.

mod advantage;
mod align;
mod answer;
mod bags;
mod bulk;
mod cascade;
mod catalog;
mod comparer;
mod cosmetic;
mod cosmetic_kinds;
mod decision;
mod diff;
mod dual;
mod gate;
mod guide;
mod identifiers;
mod kinds;
mod leaf;
mod learned;
mod mismatch;
mod nested;
mod noise;
mod numbers;
mod observation;
mod one_sided;
mod pair;
mod paths;
mod renames;
mod repeats;
mod reward;
mod rules;
mod scan;
mod schema;
mod shape;
mod side;
mod slots;
mod tally;
mod tokens;
mod transition;
mod unordered;
mod varied;
mod verdicts;
mod volatility;
mod walk;
mod weigh;
mod words;

#[cfg(test)]
mod figures;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod kinds_tests;
#[cfg(test)]
mod observation_tests;
#[cfg(test)]
mod repeats_tests;
#[cfg(test)]
mod rules_tests;

pub use advantage::{
    Advantages, EPSILON, EQUAL_REWARDS, Group, WeightScale, effective_size, group_advantages,
    reward_corrected,
};
pub use align::{CallPair, CallRef, MATCH_LIMIT, align};
pub use answer::{Answer, Form};
pub use cascade::{Along, CallEvidence, Cause, Named, along, causes, is_flaky};
pub use catalog::{CatalogGap, Tool, ToolGap, ToolMatch, catalog_gap};
pub use comparer::Comparer;
pub use decision::{
    Agent, CallDecision, Decision, Dimension, Episode, GoldSource, Logged, Made, Mix, Offer,
    Offered, Pair, Placed, Probe, ProbeConstants, RightCall, Seen, TermWeights, decide,
    right_calls, shapley, tool_words,
};
pub use diff::{Diff, PathDiff, SHOWN_CHARS};
pub use dual::{
    Firsts, Knowledge, Learned, NoKnowledge, PARTS, Part, RunCall, SlotGap, Variation,
    compare_runs, variations,
};
pub use gate::{
    ALPHA_RANGE, CALIBRATION_BROKEN, CALIBRATION_PAIRS, Gaps, Gate, MAX_PENALTY, NO_GATE_FROM,
    fidelity_low, weight_moved,
};
pub use identifiers::identifiers;
pub use kinds::{CosmeticKind, CosmeticWeights, DiffKind, Kinds, Rules, Severity};
pub use leaf::SHORT_CHARS;
pub use learned::{Lending, NoiseSums};
pub use noise::{ArmNoise, Corrected, EnergyGap, Noise, correct, correct_pairs, energy_gap};
pub use observation::{ObsGap, observation};
pub use paths::{LOSSES_KEPT, PathLoss, general_path};
pub use repeats::{
    Idempotency, ReadAfterWrite, Repeat, RepeatCall, idempotency_distance,
    read_after_write_distance, repeats, says_nothing,
};
pub use reward::{Judged, VerdictGap, acceptance_distance, is_refusal, verdict_gap};
pub use rules::{
    ArrayRule, CompiledRules, ContentClass, MAX_STEPS, PathRule, PathRules, RuleAction, RuleCache,
    RuleError, RuleErrorKind,
};
pub use shape::shape;
pub use slots::slots;
pub use tokens::text_similarity;
pub use transition::{
    Component, LATENCY_FLOOR_MS, StateAfter, Transition, compose, latency_distance,
    outcome_distance, state_distance,
};
pub use varied::Varied;
pub use verdicts::{Verdict, verdicts_gap};
pub use volatility::{MAX_PATHS, VolatilePath, Volatility};
pub use words::{REWARD_WORDS, REWARD_WORDS_BESIDE_USE, USE_WORDS};
