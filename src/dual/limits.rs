//! Patience: the rate of an arm, and what to do when an environment is down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::plan::BreakerPlan;

/// A token bucket that can also be told to wait.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Tokens per second; `None`: no limit.
    rate: Option<f64>,
    burst: f64,
    state: Mutex<Tokens>,
}

#[derive(Debug)]
struct Tokens {
    tokens: f64,
    at: Instant,
    /// Nothing is sent before this time: the environment asked for it.
    not_before: Option<Instant>,
}

impl Bucket {
    pub(super) fn new(rate: Option<f64>, burst: u32) -> Self {
        Self {
            rate,
            burst: f64::from(burst),
            state: Mutex::new(Tokens {
                tokens: f64::from(burst),
                at: Instant::now(),
                not_before: None,
            }),
        }
    }

    /// Waits for a token and takes it.
    pub(super) async fn take(&self) {
        while let Err(wait) = self.try_take(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
    }

    fn try_take(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = state.not_before
            && until > now
        {
            return Err(until - now);
        }
        let Some(rate) = self.rate else { return Ok(()) };
        let gained = now.saturating_duration_since(state.at).as_secs_f64() * rate;
        state.tokens = (state.tokens + gained).min(self.burst);
        state.at = now;
        if state.tokens >= 1.0 {
            state.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - state.tokens) / rate))
    }

    /// The environment asks us to wait.
    pub(super) fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.not_before = state.not_before.max(Some(until));
    }
}

/// Whether an environment is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Yes.
    Go,
    /// Later: it failed, or somebody is just trying.
    Wait(Duration),
    /// No more in this command.
    Down,
}

/// Counts failures of one environment in a row. After some it is left alone for a
/// while, then tried with one run; after some such pauses it is given up.
#[derive(Debug)]
pub(super) struct Breaker {
    plan: BreakerPlan,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    pauses: u32,
    until: Option<Instant>,
    trying: bool,
    down: bool,
    /// What was seen last.
    why: String,
}

impl Breaker {
    pub(super) fn new(plan: BreakerPlan) -> Self {
        Self {
            plan,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to try now.
    pub(super) fn admit(&self, now: Instant) -> Admission {
        let mut state = self.state();
        if state.down {
            return Admission::Down;
        }
        let Some(until) = state.until else {
            return Admission::Go;
        };
        if until > now {
            return Admission::Wait(until - now);
        }
        if state.trying {
            return Admission::Wait(Duration::from_millis(100));
        }
        state.trying = true;
        Admission::Go
    }

    /// It worked. What was given up stays so.
    pub(super) fn worked(&self) {
        let mut state = self.state();
        if !state.down {
            *state = State::default();
        }
    }

    /// Whoever was admitted did not try after all.
    pub(super) fn not_tried(&self) {
        self.state().trying = false;
    }

    /// It failed. True if it is given up by this failure.
    pub(super) fn failed(&self, why: &str, now: Instant) -> bool {
        let mut state = self.state();
        why.clone_into(&mut state.why);
        state.failures += 1;
        let tried = std::mem::take(&mut state.trying);
        if !tried && state.failures < self.plan.failures {
            return false;
        }
        // Failures of runs that were under way when the pause began belong to it.
        if !tried && state.until.is_some() {
            return false;
        }
        state.pauses += 1;
        let was_down = state.down;
        state.down = state.pauses > self.plan.give_up;
        state.until = Some(now + self.plan.pause);
        state.down && !was_down
    }

    /// Nothing more of it in this command.
    pub(super) fn give_up(&self, why: &str) {
        let mut state = self.state();
        state.down = true;
        why.clone_into(&mut state.why);
    }

    /// Whether it was given up.
    pub(super) fn is_down(&self) -> bool {
        self.state().down
    }

    /// What was seen when it failed last, if it did not work since.
    pub(super) fn why(&self) -> Option<String> {
        let state = self.state();
        (!state.why.is_empty()).then(|| state.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_rate_and_its_burst() {
        let bucket = Bucket::new(Some(10.0), 2);
        let start = bucket.state.lock().unwrap().at;
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert!(bucket.try_take(at(0)).is_ok());
        assert!(bucket.try_take(at(0)).is_ok());
        let wait = bucket.try_take(at(0)).unwrap_err();
        assert!((wait.as_secs_f64() - 0.1).abs() < 1e-6, "{wait:?}");
        assert!(bucket.try_take(at(101)).is_ok());
        assert!(bucket.try_take(at(102)).is_err());
        // A long rest gives the burst and no more.
        let taken = (0..10)
            .filter(|_| bucket.try_take(at(60_000)).is_ok())
            .count();
        assert_eq!(taken, 2);
        bucket.pause(Duration::from_secs(500));
        assert!(bucket.try_take(at(120_000)).is_err());
    }

    #[test]
    fn a_breaker_pauses_tries_once_and_gives_up() {
        let pause = Duration::from_secs(10);
        let plan = BreakerPlan {
            failures: 2,
            pause,
            give_up: 2,
            longest_wait: pause,
        };
        let breaker = Breaker::new(plan);
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        assert!(!breaker.failed("no", at(0)));
        assert_eq!(breaker.admit(at(0)), Admission::Go);
        assert!(!breaker.failed("no", at(0)));
        assert!(matches!(breaker.admit(at(1)), Admission::Wait(_)));
        // One trial, the others wait for it.
        assert_eq!(breaker.admit(at(11)), Admission::Go);
        assert!(matches!(breaker.admit(at(11)), Admission::Wait(_)));
        assert!(!breaker.failed("no", at(11)));
        assert_eq!(breaker.admit(at(22)), Admission::Go);
        assert!(breaker.failed("refused", at(22)));
        assert_eq!(breaker.admit(at(100)), Admission::Down);
        // A run that was under way and ends well changes nothing about it.
        breaker.worked();
        assert_eq!(breaker.admit(at(100)), Admission::Down);
        assert_eq!(breaker.why().as_deref(), Some("refused"));
    }
}
