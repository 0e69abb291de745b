//! How a plan describes a perturbed environment.

use std::collections::BTreeSet;
use std::sync::Arc;

use fidelake_core::perturb::ActsOn;
use serde::Deserialize;

use super::error::PerturbError;
use super::setting::Item;
use super::{Around, Perturbations};
use crate::env::{EnvError, EnvResult, Environment};

/// An environment of the plan with perturbations around it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturb {
    /// Name of the environment of the plan inside.
    pub of: String,
    /// What is put around it, from the inside outwards.
    pub perturb: Vec<Item>,
    /// Seed of all chance.
    #[serde(default)]
    pub seed: u64,
    /// Tools that change nothing, beside those that the environment declares.
    #[serde(default)]
    pub reads: BTreeSet<String>,
    /// Whether perturbations may make calls of their own, which no budget counts.
    #[serde(default)]
    pub uncounted_calls: bool,
    /// Whether the repeats of a trajectory meet the same.
    #[serde(default)]
    pub repeats: RepeatsWord,
}

/// Whether the repeats of a trajectory meet the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepeatsWord {
    /// They do: the difference belongs to the world.
    #[default]
    Same,
    /// Each has a chance of its own: the difference is noise of the world.
    Own,
}

impl Perturb {
    /// The list, checked.
    pub(crate) fn set(&self) -> Result<Perturbations, PerturbError> {
        let set = Perturbations::new(&self.perturb, self.seed)?;
        let told = set.kinds().find(|kind| kind.acts_on() == ActsOn::Task);
        match told {
            Some(kind) => Err(PerturbError::Task(kind.as_str())),
            None => Ok(set),
        }
    }

    /// An error if the list cannot be put around any environment.
    pub(crate) fn check(&self) -> Result<(), PerturbError> {
        self.set()?.permitted(&self.around())
    }

    fn around(&self) -> Around {
        Around {
            reads: self.reads.clone(),
            uncounted_calls: self.uncounted_calls,
            own_repeats: self.repeats == RepeatsWord::Own,
        }
    }

    /// Puts the list around what stands inside.
    pub(crate) fn build(
        &self,
        name: &str,
        inner: Arc<dyn Environment>,
    ) -> EnvResult<Arc<dyn Environment>> {
        self.set()
            .and_then(|set| set.around(inner, self.around()))
            .map_err(|error| EnvError::Description {
                name: name.to_owned(),
                why: error.to_string(),
            })
    }
}
