//! How many runs every rule left, and what became of the runs that somebody asks about.

use serde::Serialize;

use super::select::Candidate;

/// A rule, with the runs before and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RuleCount {
    pub(super) rule: String,
    pub(super) runs_in: u64,
    pub(super) runs_out: u64,
    /// What else is to be said of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
    /// What of it finds nothing whatever the runs are: mistakes, most likely.
    #[serde(skip)]
    pub(super) idle: Vec<String>,
}

/// A run that a rule left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) environment: String,
    pub(super) run_id: String,
    pub(super) repeat: i32,
    pub(super) rule: String,
    pub(super) why: String,
}

/// The rules in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub(super) rules: Vec<RuleCount>,
    /// Only the runs of this trajectory are remembered one by one.
    pub(super) watched: Option<String>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Ledger {
    /// Remembers the fate of the runs of one trajectory.
    pub(super) fn watching(trajectory: &str) -> Self {
        Self {
            watched: Some(trajectory.to_owned()),
            ..Self::default()
        }
    }

    /// A rule was applied.
    pub(super) fn rule(
        &mut self,
        rule: &str,
        runs_in: u64,
        runs_out: u64,
        note: impl Into<String>,
    ) {
        self.rules.push(RuleCount {
            rule: rule.to_owned(),
            runs_in,
            runs_out,
            note: note.into(),
            idle: Vec::new(),
        });
    }

    /// Parts of the last rule that find nothing whatever the runs are.
    pub(super) fn idle(&mut self, parts: Vec<String>) {
        if let Some(rule) = self.rules.last_mut() {
            rule.idle = parts;
        }
    }

    /// A rule left a run out; `why` is asked only if somebody wants to know.
    pub(super) fn left_out(&mut self, run: &Candidate, rule: &str, why: impl FnOnce() -> String) {
        if self.watched.as_deref() == Some(&*run.trajectory_id) {
            self.left_out.push(LeftOut {
                environment: run.environment.to_string(),
                run_id: run.run_id.to_string(),
                repeat: run.repeat,
                rule: rule.to_owned(),
                why: why(),
            });
        }
    }

    /// Keeps the candidates that a rule keeps, in their order.
    pub(super) fn keep(
        &mut self,
        mut candidates: Vec<Candidate>,
        rule: &str,
        note: impl Into<String>,
        dropped: &dyn Fn(usize) -> Option<String>,
    ) -> Vec<Candidate> {
        let before = candidates.len() as u64;
        // In place: there may be a million.
        let mut at = 0;
        candidates.retain(|run| {
            let why = dropped(at);
            at += 1;
            let kept = why.is_none();
            if let Some(why) = why {
                self.left_out(run, rule, || why);
            }
            kept
        });
        self.rule(rule, before, candidates.len() as u64, note);
        candidates
    }
}
