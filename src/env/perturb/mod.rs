//! A world that differs on purpose: any environment with perturbations around it
//! (docs/perturbations.md).
//!
//! Each perturbation is a layer around the one before it: the first of a list stands
//! next to the environment, the last next to the agent. What a layer does to a call
//! follows from the seed, the trajectory and the position of the call alone, so that a
//! run comes out the same whatever runs beside it.

mod catalog;
mod error;
mod fault;
mod lag;
mod layer;
mod memory;
mod reply;
mod runs;
mod set;
mod setting;
mod spec;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::{EnvResult, Environment, Session, Start};
use layer::{Layer, Layered};
use setting::Setting;

pub use error::PerturbError;
pub use runs::{Variant, Written, perturb_line};
pub use set::Perturbations;
pub use setting::Item;
pub use spec::{Perturb, RepeatsWord};

/// What all layers around one environment share.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Tools that change nothing, beside those that the environment declares.
    pub reads: BTreeSet<String>,
    /// Whether layers may make calls of their own, which no budget counts.
    pub uncounted_calls: bool,
    /// Whether every repeat of a trajectory has a chance of its own.
    pub own_repeats: bool,
}

/// One layer around an environment.
#[derive(Debug)]
struct Perturbed {
    inner: Arc<dyn Environment>,
    setting: Setting,
    seed: u64,
    around: Arc<Around>,
}

#[async_trait]
impl Environment for Perturbed {
    /// That of what stands inside: what is permitted there is permitted here.
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        let layer = self.layer(start).await?;
        let inner = match self.inner.open(start).await {
            Ok(inner) => inner,
            Err(error) => {
                layer.end().await;
                return Err(error);
            }
        };
        Ok(Box::new(Layered::new(
            inner,
            layer,
            self.setting.clone(),
            self.seed,
            Arc::clone(&self.around),
        )))
    }
}

impl Perturbed {
    async fn layer(&self, start: &Start) -> EnvResult<Box<dyn Layer>> {
        use fidelake_core::perturb::Perturbation as P;
        let parts = self.inner.kind() == "mcp";
        let setting = self.setting.clone();
        Ok(match setting.kind {
            P::TransitionTimeout
            | P::TransitionRateLimit
            | P::TransitionAuth
            | P::TransitionServerError
            | P::TransitionMalformed => Box::new(fault::Faults::new(setting, parts)),
            P::TransitionSchemaDrift | P::Latency | P::TruncatedOutput | P::Pagination => {
                Box::new(reply::Replies::new(setting))
            }
            P::StaleCache => Box::new(memory::Cache::new(setting)),
            P::LostIdempotency => Box::new(memory::Repeats::new(setting, parts)),
            P::EventualConsistency => {
                let copy = self.inner.open(start).await?;
                Box::new(lag::Lag::new(setting, copy))
            }
            _ => Box::new(catalog::Catalog::new(setting, parts)),
        })
    }
}
