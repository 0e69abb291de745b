//! `randomization.toml`: what is put around a simulator.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::error::RandomizeError;
use crate::env::Environment;
use crate::env::perturb::{Around, Item, Perturbations};

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Randomization {
    version: u32,
    /// The environment that it was made for.
    pub environment: String,
    /// Sum of the intensities that might be spent.
    #[serde(default)]
    pub budget: Option<f64>,
    /// Sum of those that were.
    #[serde(default)]
    pub total: Option<f64>,
    /// From the inside outwards, as in a plan.
    #[serde(default)]
    pub perturb: Vec<Item>,
}

impl Randomization {
    /// Reads and checks the file.
    ///
    /// # Errors
    /// With what is wrong, and where.
    pub fn read(path: &Path) -> Result<Self, RandomizeError> {
        let wrong = |why: String| RandomizeError::File {
            path: path.display().to_string(),
            why,
        };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let read: Self = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if read.version != 1 {
            return Err(wrong(format!(
                "version = {}: this fidelake reads version 1",
                read.version
            )));
        }
        if let Err(error) = read.set(0) {
            return Err(wrong(error.to_string()));
        }
        Ok(read)
    }

    fn set(&self, seed: u64) -> Result<Option<Perturbations>, RandomizeError> {
        // An empty list is an answer: nothing helps.
        let some = (!self.perturb.is_empty()).then(|| Perturbations::new(&self.perturb, seed));
        Ok(some.transpose()?)
    }

    /// Puts it around an environment. Layers may make calls of their own: a simulator's
    /// cost nothing.
    ///
    /// # Errors
    /// If the list cannot stand around it.
    pub fn around(
        &self,
        environment: Arc<dyn Environment>,
        seed: u64,
    ) -> Result<Arc<dyn Environment>, RandomizeError> {
        let Some(set) = self.set(seed)? else {
            return Ok(environment);
        };
        let around = Around {
            uncounted_calls: true,
            own_repeats: true,
            ..Around::default()
        };
        Ok(set.around(environment, around)?)
    }
}
