//! An agent at work on one task in one session.

use std::time::Duration;

use fidelake_core::json::Doc;
use fidelake_core::model::{Evidence, Outcome, OutcomeRules};

use super::super::rebind::{Binding, apply, value_of_text};
use super::episode::Episode;
use super::habit::{Agent, Mind};
use super::pick::{known_arguments, most_alike};
use super::slots::Slots;
use crate::env::{Answer, EnvResult, Place, Request, Session, Tool};

/// How long an agent waits, and how often it tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// With one call.
    pub timeout: Duration,
    /// Tries of one call, the first included.
    pub tries: u32,
    /// Before the first retry, doubled each time.
    pub backoff: Duration,
    /// Longest wait.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            tries: 4,
            backoff: Duration::from_millis(500),
            longest: Duration::from_secs(60),
        }
    }
}

/// One call that an agent made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Which right call it is a try of.
    pub step: usize,
    /// `call`, `retry`, `read_before`, `read_back`.
    pub purpose: &'static str,
    /// Tool.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// What came back.
    pub answer: Answer,
    /// How it ended.
    pub outcome: Outcome,
}

/// What an agent did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// In order.
    pub calls: Vec<Made>,
    /// The state after it: its hash, else its JSON text.
    pub state: Option<String>,
    /// The states at [`Episode::looks`].
    pub on_the_way: Vec<Option<String>>,
    /// What was offered, JSON texts.
    pub tools: Vec<String>,
    /// What the environment says of itself.
    pub version: Option<String>,
    /// Whether the last try of every step ended well.
    pub all_well: bool,
}

impl Played {
    /// Whether it came to the same end as the right calls in the clean world: in the same
    /// state, where the environment shows one, else with every step done; and on the way,
    /// where it was looked at, through the same states.
    #[must_use]
    pub fn succeeded(&self, clean: &Self) -> bool {
        match (&self.state, &clean.state) {
            (Some(own), Some(right)) => own == right && self.on_the_way == clean.on_the_way,
            _ => self.all_well,
        }
    }
}

/// Plays a task. What goes wrong with calls is part of the play.
///
/// # Errors
/// If the environment lists no tools.
pub async fn play(
    session: &mut dyn Session,
    episode: &Episode,
    agent: &Agent,
    repeat: i32,
    patience: &Patience,
) -> EnvResult<Played> {
    session.place(Place {
        trajectory: &episode.trajectory,
        repeat,
        position: 0,
    });
    let tools = session.tools().await?;
    let mut at_work = AtWork {
        episode,
        agent,
        repeat,
        patience,
        bindings: match agent.mind {
            Mind::Gold => Vec::new(),
            _ => episode.bindings(),
        },
        slots: match agent.mind {
            Mind::Reader => Slots::learnt(episode),
            _ => Slots::default(),
        },
        live: vec![None; episode.calls.len()],
        played: Played {
            tools: tools.iter().map(|tool| tool.declaration.clone()).collect(),
            version: session.version(),
            all_well: true,
            ..Played::default()
        },
        tools,
    };
    for step in 0..episode.calls.len() {
        at_work.step(session, step).await;
        if episode.looks.contains(&step) {
            let state = state(session).await;
            at_work.played.on_the_way.push(state);
        }
    }
    at_work.played.state = state(session).await;
    Ok(at_work.played)
}

async fn state(session: &mut dyn Session) -> Option<String> {
    let shown = session.snapshot().await.ok().flatten().unwrap_or_default();
    shown.hash.or(shown.state)
}

struct AtWork<'a> {
    episode: &'a Episode,
    agent: &'a Agent,
    repeat: i32,
    patience: &'a Patience,
    bindings: Vec<Vec<Binding>>,
    slots: Slots,
    /// Values of the live answers by step.
    live: Vec<Option<String>>,
    tools: Vec<Tool>,
    played: Played,
}

impl AtWork<'_> {
    async fn step(&mut self, session: &mut dyn Session, step: usize) {
        let (name, arguments) = self.wanted(step);
        let reader = self.reader(step, &name, &arguments);
        let before = match &reader {
            Some((name, arguments)) => {
                let read = self
                    .call(session, step, "read_before", name, arguments)
                    .await;
                well(&read).then_some(read.answer.content).flatten()
            }
            None => None,
        };
        let mut made = self.call(session, step, "call", &name, &arguments).await;
        for again in 1..self.patience.tries {
            if !self.agent.habits.retry || !passing(made.outcome) {
                break;
            }
            if self.agent.habits.backoff {
                let asked = made.answer.retry_after.unwrap_or_default();
                let wait = self.patience.backoff * 2u32.saturating_pow(again - 1);
                tokio::time::sleep(asked.max(wait).min(self.patience.longest)).await;
            }
            if let (Some((name, arguments)), Some(before)) = (&reader, &before)
                && doubtful(made.outcome)
            {
                let now = self.call(session, step, "read_back", name, arguments).await;
                if well(&now) && now.answer.content.as_ref() != Some(before) {
                    // It took effect: what is done is not done again.
                    return;
                }
            }
            made = self.call(session, step, "retry", &name, &arguments).await;
        }
        let ended_well = well(&made);
        self.played.all_well &= ended_well;
        if ended_well {
            self.live[step] = made.answer.content.as_deref().and_then(value_of_text);
        }
    }

    /// The call that the agent takes for right.
    fn wanted(&self, step: usize) -> (String, String) {
        let right = &self.episode.calls[step];
        let arguments = match self.bindings.get(step) {
            Some(bindings) => apply(&right.arguments, bindings, &self.live).0,
            None => right.arguments.clone(),
        };
        match self.agent.mind {
            Mind::Gold | Mind::Rebinding => return (right.name.clone(), arguments),
            Mind::Reader => {
                let told = self.episode.told.as_deref().unwrap_or_default();
                return (right.name.clone(), self.slots.fill(step, &arguments, told));
            }
            Mind::Strict => {
                let tool = self.tools.iter().find(|tool| tool.name == right.name);
                let arguments = tool.map_or(arguments.clone(), |tool| {
                    known_arguments(&arguments, &tool.declaration)
                });
                return (right.name.clone(), arguments);
            }
            Mind::Picker => {}
        }
        let wanted = self.episode.tools.iter().find(|declaration| {
            Doc::parse(declaration).is_ok_and(|doc| doc.root().get_str("name") == Some(&right.name))
        });
        let picked = wanted.and_then(|wanted| most_alike(wanted, &self.tools));
        match picked.map(|at| &self.tools[at]) {
            Some(tool) => {
                let arguments = known_arguments(&arguments, &tool.declaration);
                (tool.name.clone(), arguments)
            }
            None => (right.name.clone(), arguments),
        }
    }

    /// The read that shows what a state-changing call does, if the agent looks at all.
    fn reader(&self, step: usize, name: &str, arguments: &str) -> Option<(String, String)> {
        if !(self.agent.habits.retry && self.agent.habits.read_back) {
            return None;
        }
        let right = &self.episode.calls[step].name;
        let mutates = self.tools.iter().find(|tool| tool.name == name)?.mutates;
        let of = self
            .episode
            .read_backs
            .iter()
            .find(|of| of.after == *right)?;
        let tool = self.tools.iter().find(|tool| tool.name == of.call)?;
        (mutates != Some(false)).then(|| {
            (
                tool.name.clone(),
                known_arguments(arguments, &tool.declaration),
            )
        })
    }

    async fn call(
        &mut self,
        session: &mut dyn Session,
        step: usize,
        purpose: &'static str,
        name: &str,
        arguments: &str,
    ) -> Made {
        session.place(Place {
            trajectory: &self.episode.trajectory,
            repeat: self.repeat,
            position: self.played.calls.len(),
        });
        let request = Request {
            name,
            arguments,
            timeout: self.patience.timeout,
        };
        let answer = session.call(request).await;
        let made = Made {
            step,
            purpose,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            outcome: outcome(&answer),
            answer,
        };
        self.played.calls.push(made.clone());
        made
    }
}

/// How a call ended, by the rules of the import.
fn outcome(answer: &Answer) -> Outcome {
    let content = answer.content.as_deref().unwrap_or_default();
    let doc = Doc::parse(content).ok();
    let root = doc.as_ref().map(Doc::root);
    let text = root.and_then(|root| {
        let part = root.elements().next().and_then(|part| part.get_str("text"));
        root.as_str().or(part)
    });
    let evidence = Evidence {
        environment: "",
        is_error: answer.is_error,
        status: answer.status,
        rpc_code: answer.rpc_code,
        error_type: answer.error_type.as_deref(),
        text: text.unwrap_or(content),
        structured: root.filter(|_| text.is_none()),
    };
    OutcomeRules::default().derive(&evidence).outcome
}

fn well(made: &Made) -> bool {
    matches!(made.outcome, Outcome::Ok | Outcome::SchemaDrift)
}

/// Whether trying again may help.
fn passing(outcome: Outcome) -> bool {
    doubtful(outcome) || matches!(outcome, Outcome::RateLimited | Outcome::Auth)
}

/// Whether the call may have taken effect.
fn doubtful(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Timeout
            | Outcome::Transport
            | Outcome::ServerError
            | Outcome::MalformedResponse
            | Outcome::Conflict
    )
}
