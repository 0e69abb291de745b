//! What all runs of one command share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::error::DualResult;
use super::ledger::Ledger;
use super::limits::{Admission, Breaker, Bucket};
use super::plan::Plan;
use super::plan_arm::ArmPlan;
use crate::env::{Context, EnvResult, Environment, Session, Spec, Start};

/// The plan, its ledger, its environments.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) ledger: Ledger,
    pub(super) arms: BTreeMap<&'static str, Arm>,
    pub(super) worlds: BTreeMap<String, World>,
}

/// One arm at work.
#[derive(Debug)]
pub(super) struct Arm {
    pub(super) plan: ArmPlan,
    pub(super) bucket: Bucket,
    /// One permit per run under way.
    pub(super) slots: Semaphore,
    /// Calls of the budget that nobody has asked for yet; read from the ledger first.
    free: tokio::sync::Mutex<Option<i64>>,
}

/// One environment of the plan.
#[derive(Debug)]
pub(super) struct World {
    pub(super) environment: Arc<dyn Environment>,
    pub(super) breaker: Breaker,
    /// The environment that is asked where this one, a replay, has no answer.
    pub(super) through: Option<String>,
    /// The perturbations around it, as a label of its runs.
    pub(super) perturbation: Option<String>,
    /// Their intensities, as a label.
    pub(super) perturbation_intensity: Option<String>,
    /// Sessions that can be reset.
    idle: Mutex<Vec<Box<dyn Session>>>,
}

impl Shared {
    pub(super) fn new(plan: Plan, ledger: Ledger, lake: &std::path::Path) -> DualResult<Self> {
        let folder = plan.folder();
        let mut worlds = BTreeMap::new();
        let named = plan.arms.values().flat_map(ArmPlan::names);
        let behind = plan.environments.values().filter_map(through);
        for name in named.chain(behind) {
            let Some(spec) = plan.environments.get(name) else {
                continue;
            };
            let context = Context {
                name,
                folder: &folder,
                lake: Some(lake),
            };
            let world = World {
                environment: spec.build_among(&context, &plan.environments)?,
                breaker: Breaker::new(plan.breaker),
                through: through(spec).map(str::to_owned),
                perturbation: spec.perturbation(),
                perturbation_intensity: spec.perturbation_intensity(),
                idle: Mutex::default(),
            };
            worlds.insert(name.to_owned(), world);
        }
        let arms = plan.arms.iter().map(|(name, arm)| {
            let state = Arm {
                bucket: Bucket::new(arm.rate, arm.burst),
                slots: Semaphore::new(arm.concurrency),
                free: tokio::sync::Mutex::default(),
                plan: arm.clone(),
            };
            (*name, state)
        });
        Ok(Self {
            arms: arms.collect(),
            worlds,
            plan,
            ledger,
        })
    }

    /// Ends all sessions that wait for their next run.
    pub(super) async fn close(&self) {
        for world in self.worlds.values() {
            let idle = std::mem::take(&mut *world.idle());
            for session in idle {
                session.close().await;
            }
        }
    }
}

/// The environment behind a replay.
pub(super) fn through(spec: &Spec) -> Option<&str> {
    match spec {
        Spec::Replay(replay) => replay.through.as_deref(),
        _ => None,
    }
}

impl World {
    /// Whether it answers from recordings: such calls cost nothing.
    pub(super) fn replays(&self) -> bool {
        self.environment.kind() == "replay"
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Box<dyn Session>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session in a fresh state.
    pub(super) async fn session(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        loop {
            let Some(mut session) = self.idle().pop() else {
                break;
            };
            if session.reset(start).await.is_ok() {
                return Ok(session);
            }
            session.close().await;
        }
        self.environment.open(start).await
    }

    /// Keeps a session for the next run.
    pub(super) fn keep(&self, session: Box<dyn Session>) {
        self.idle().push(session);
    }

    /// Waits until the environment may be tried; false if it was given up.
    pub(super) async fn admitted(&self, stop: impl Fn() -> bool) -> bool {
        loop {
            match self.breaker.admit(Instant::now()) {
                Admission::Go => return true,
                Admission::Down => return false,
                Admission::Wait(_) if stop() => return false,
                // In short steps, to see a stop or an end of the pause.
                Admission::Wait(wait) => {
                    tokio::time::sleep(wait.min(std::time::Duration::from_millis(200))).await;
                }
            }
        }
    }
}

/// Calls of the budget that one run has asked for. Whoever starts a run has
/// asked, so that a budget ends between runs and not in the middle of several.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    arm: &'a Arm,
    left: i64,
}

impl Arm {
    /// Asks for `calls` of the budget; `None` if they are not there.
    pub(super) async fn reserve(
        &self,
        ledger: &Ledger,
        name: &'static str,
        calls: usize,
    ) -> DualResult<Option<Reservation<'_>>> {
        let calls = i64::try_from(calls).unwrap_or(i64::MAX);
        let Some(budget) = self.plan.budget else {
            return Ok(Some(Reservation { arm: self, left: 0 }));
        };
        let mut free = self.free.lock().await;
        let left = match *free {
            Some(left) => left,
            None => ledger.left(name, budget).await?,
        };
        *free = Some(left);
        if left < calls {
            return Ok(None);
        }
        *free = Some(left - calls);
        Ok(Some(Reservation {
            arm: self,
            left: calls,
        }))
    }
}

impl Reservation<'_> {
    /// One call of it is counted in the ledger now.
    pub(super) async fn used(&mut self) {
        if self.left > 0 {
            self.left -= 1;
        } else if let Some(free) = self.arm.free.lock().await.as_mut() {
            // A retry or a prefix, which nobody asked for.
            *free -= 1;
        }
    }

    /// Gives the rest back.
    pub(super) async fn release(self) {
        if let Some(free) = self.arm.free.lock().await.as_mut() {
            *free += self.left;
        }
    }
}
