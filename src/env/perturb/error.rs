//! What can be wrong with a list of perturbations.

use thiserror::Error;

/// Why a list of perturbations cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PerturbError {
    /// No perturbation is called so.
    #[error("there is no perturbation {0:?}; `fidelake perturb --list` shows all of them")]
    Unknown(String),
    /// The intensity is no share.
    #[error("{name}: intensity {given}: write a number from 0 to 1")]
    Intensity {
        /// The perturbation.
        name: &'static str,
        /// What was given.
        given: String,
    },
    /// One perturbation stands twice in a list for one tool: its second draw would be the
    /// first again.
    #[error("{0} stands twice in the list: leave one out, or give each tools of its own")]
    Twice(&'static str),
    /// A key that says nothing to this perturbation.
    #[error("{name} knows no `{key}`; it knows {known}")]
    Key {
        /// The perturbation.
        name: &'static str,
        /// The key.
        key: &'static str,
        /// What it does know.
        known: String,
    },
    /// A value out of range.
    #[error("{name}: {key}: {why}")]
    Value {
        /// The perturbation.
        name: &'static str,
        /// The key.
        key: &'static str,
        /// What would be right.
        why: &'static str,
    },
    /// It changes what an environment never sees.
    #[error(
        "{0} changes the task, which an environment never sees: use `fidelake perturb --with {0}` on the runs instead"
    )]
    Task(&'static str),
    /// It changes answers, which recorded runs without calls do not have.
    #[error(
        "{0} changes what is answered while calls are made: put it around an environment of a plan (kind = \"perturb\")"
    )]
    Calls(&'static str),
    /// It makes calls that nobody counts.
    #[error(
        "{0} makes calls of its own, which no budget counts: say `uncounted_calls = true` if the environment costs nothing"
    )]
    Uncounted(&'static str),
    /// It has a copy of what stands inside, which must be the environment itself.
    #[error(
        "{0} must stand first in the list, next to the environment: it makes a copy of what stands inside it"
    )]
    First(&'static str),
    /// The list is empty.
    #[error("no perturbation is given; `fidelake perturb --list` shows all of them")]
    Empty,
}
