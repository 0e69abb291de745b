//! One run: one trajectory, once, on one arm, from a fresh state.

use std::time::{Duration, Instant};

use fidelake_core::json::key::{Key, call_key};
use fidelake_core::json::{Doc, canonical};

use super::answer::{Mark, Object, notes, received};
use super::behind::Behind;
use super::error::DualResult;
use super::ledger::{Ending, Received, Sending};
use super::lines::missed;
use super::permission::{Declared, permitted, reading};
use super::rebind::{apply, value_of_text};
use super::schedule::RunPlan;
use super::shared::{Arm, Reservation, Shared, World};
use super::task::Task;
use crate::env::{Answer, Fault, Request, Session, Start};
use crate::lake::failpoint;

/// An environment that answers nothing in time so often in a row hangs.
const LATE_IN_A_ROW: u32 = 3;

/// Beyond its own timeout a session gets so long to say that there was no answer.
const GRACE: Duration = Duration::from_secs(15);

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is done, as far as it can be.
    Done,
    /// Its environment is down; it is left for the next command.
    Down,
    /// The budget does not reach for it.
    NoBudget,
    /// The user wants to stop.
    Stopped,
}

/// How the calls of a run came to an end.
enum End {
    /// There are no more, or no more can be made in this state.
    Done(&'static str),
    /// The run is cut here and may be resumed.
    Cut(Outcome),
}

/// A run at work.
pub(super) struct Running<'a> {
    pub(super) shared: &'a Shared,
    pub(super) arm: &'a Arm,
    pub(super) world: &'a World,
    pub(super) run: &'a RunPlan,
    pub(super) task: &'a Task,
    /// Calls to make: all of them, or those before the first refused one.
    pub(super) until: usize,
    pub(super) declared: Declared,
    pub(super) reservation: Reservation<'a>,
    /// Results in the native form by position.
    pub(super) results: Vec<Option<String>>,
    pub(super) notes: Vec<(&'static str, String)>,
    /// What stands behind a replay, once it was asked.
    pub(super) behind: Option<Behind<'a>>,
}

/// A call of the task to make.
#[derive(Clone, Copy)]
pub(super) struct Making {
    pub(super) position: usize,
    pub(super) purpose: &'static str,
    pub(super) budget: Option<i64>,
    /// Whether its result is the run's.
    pub(super) keep: bool,
}

/// Makes a run.
pub(super) async fn run(
    shared: &Shared,
    run: &RunPlan,
    task: &Task,
    until: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> DualResult<Outcome> {
    let Some(arm) = shared.arms.get(run.arm) else {
        return Ok(Outcome::Down);
    };
    let world = arm
        .plan
        .environment(&task.environment)
        .and_then(|name| shared.worlds.get(name));
    let Some(world) = world else {
        return Ok(Outcome::Down);
    };
    let Ok(_slot) = arm.slots.acquire().await else {
        return Ok(Outcome::Stopped);
    };
    if stop() {
        return Ok(Outcome::Stopped);
    }
    if !world.admitted(stop).await {
        return Ok(if stop() {
            Outcome::Stopped
        } else {
            Outcome::Down
        });
    }
    let made = shared.ledger.made(run.run).await?;
    let settled = |call: &&super::ledger::Made| call.answer.is_some() && call.status != "not_sent";
    let answered = made.iter().filter(settled).count();
    // Answers of a replay cost nothing; what it passes through is counted as it comes.
    let wanted = if world.replays() {
        0
    } else {
        until.saturating_sub(answered)
    };
    let Some(reservation) = arm.reserve(&shared.ledger, run.arm, wanted).await? else {
        // Nothing was tried: whoever waits for the trial may go.
        world.breaker.not_tried();
        return Ok(Outcome::NoBudget);
    };
    let start = match &task.start_state {
        Some(state) => Start::Given(state.clone()),
        None => Start::Fresh,
    };
    let opened = async {
        let mut session = world.session(&start).await?;
        match session.tools().await {
            Ok(tools) => Ok((session, tools)),
            Err(error) => {
                session.close().await;
                Err(error)
            }
        }
    };
    let (mut session, tools) = match opened.await {
        Ok(opened) => opened,
        Err(error) => {
            reservation.release().await;
            world.breaker.failed(&error.to_string(), Instant::now());
            return Ok(Outcome::Down);
        }
    };
    let catalog: Vec<String> = tools
        .iter()
        .map(|tool| super::answer::one_line(&tool.declaration))
        .collect();
    let catalog = format!("[{}]", catalog.join(","));
    let hash = Key::of(catalog.as_bytes()).to_string();
    shared
        .ledger
        .start_run(run.run, session.version(), hash, catalog)
        .await?;
    let mut running = Running {
        shared,
        arm,
        world,
        run,
        task,
        until,
        declared: Declared::of(world.environment.kind(), &tools),
        reservation,
        results: vec![None; task.calls.len()],
        notes: Vec::new(),
        behind: None,
    };
    let end = running.calls(session.as_mut(), &made).await?;
    let keep = arm.plan.reuse && matches!(end, End::Done("completed"));
    if keep {
        world.keep(session);
    } else {
        for note in session.close().await.notes {
            running.notes.push((note.kind, note.text));
        }
    }
    if let Some(behind) = running.behind.take() {
        for note in behind.session.close().await.notes {
            running.notes.push((note.kind, note.text));
        }
    }
    running.finish(end).await
}

impl<'a> Running<'a> {
    /// Makes the calls that were not made yet, in order.
    async fn calls(
        &mut self,
        session: &mut dyn Session,
        made: &[super::ledger::Made],
    ) -> DualResult<End> {
        let mut doubt = vec![false; self.task.calls.len()];
        let mut changed = Vec::new();
        for call in made {
            let Some(result) = self.results.get_mut(call.position) else {
                continue;
            };
            match &call.answer {
                // It was about to be passed through.
                Some(answer) if self.world.through.is_some() && missed(answer) => continue,
                Some(answer) if call.status != "not_sent" => {
                    *result = Some(answer.clone());
                }
                None if call.status == "in_doubt" => doubt[call.position] = true,
                _ => continue,
            }
            if !reading(&self.arm.plan, &self.declared, &call.name)
                && !changed.contains(&call.position)
            {
                changed.push(call.position);
            }
        }
        let open = (0..self.until).any(|position| self.results[position].is_none());
        let safe = |position: &usize| self.arm.plan.repeats(&self.task.calls[*position].name);
        if open && !changed.iter().all(safe) {
            // The state of before cannot be reached without repeating what must not be.
            return Ok(End::Done("interrupted"));
        }
        let mut late = 0;
        for (position, doubt) in doubt.into_iter().enumerate().take(self.until) {
            let purpose = match (&self.results[position], doubt) {
                (Some(_), _) if open && changed.contains(&position) => "prefix",
                (Some(_), _) => continue,
                (None, true) => "repeat",
                (None, false) => "call",
            };
            let name = &self.task.calls[position].name;
            if !permitted(&self.arm.plan, Some(&self.declared), name) {
                self.notes.push((
                    "refused",
                    format!("{name} is not permitted on this arm any more"),
                ));
                return Ok(End::Done("refused"));
            }
            let budget = self.arm.plan.budget.filter(|_| !self.world.replays());
            let making = Making {
                position,
                purpose,
                budget,
                keep: true,
            };
            let Some(mut answer) = self.call(session, making).await? else {
                return Ok(End::Cut(Outcome::NoBudget));
            };
            let mut asked = self.world;
            if answer.fault == Some(Fault::Missed) && asked.through.is_some() {
                match self.pass_through(position).await? {
                    Ok(Some((world, live))) => (asked, answer) = (world, live),
                    Ok(None) => {}
                    Err(outcome) => return Ok(End::Cut(outcome)),
                }
            }
            match answer.fault {
                Some(Fault::NotSent) => {
                    let why = answer
                        .notes
                        .first()
                        .map_or("a call could not be sent", |note| &note.text);
                    asked.breaker.failed(why, Instant::now());
                    return Ok(End::Cut(Outcome::Down));
                }
                Some(Fault::Lost) => {
                    let why = answer
                        .notes
                        .first()
                        .map_or("the connection ended", |note| &note.text);
                    asked.breaker.failed(why, Instant::now());
                    return Ok(End::Done("environment_ended"));
                }
                Some(Fault::Late) => {
                    late += 1;
                    if late >= LATE_IN_A_ROW {
                        self.world
                            .breaker
                            .failed("no call is answered in time", Instant::now());
                        return Ok(End::Done("environment_hangs"));
                    }
                }
                _ => late = 0,
            }
        }
        Ok(End::Done("completed"))
    }

    /// Makes one call, again where it surely was not sent. `None`: no budget.
    pub(super) async fn call(
        &mut self,
        session: &mut dyn Session,
        making: Making,
    ) -> DualResult<Option<Answer>> {
        let Making {
            position, purpose, ..
        } = making;
        let planned = &self.task.calls[position];
        let values: Vec<Option<String>> = if planned.bindings.is_empty() {
            Vec::new()
        } else {
            self.results
                .iter()
                .map(|result| value(result.as_deref()?))
                .collect()
        };
        let (arguments, bound) = apply(&planned.arguments, &planned.bindings, &values);
        let mut more = Vec::new();
        if !bound.is_empty() {
            let list: Vec<String> = bound
                .iter()
                .map(|bound| {
                    let mut object = Object::default();
                    object
                        .text("argument", &bound.argument)
                        .raw("from_call", &bound.call.to_string())
                        .text("path", &bound.path)
                        .raw("value", bound.value.as_deref().unwrap_or("null"));
                    object.finish()
                })
                .collect();
            more.push(("rebound", format!("[{}]", list.join(","))));
        }
        let key = {
            let doc = Doc::parse(&arguments).ok();
            call_key(&planned.name, doc.as_ref().map(Doc::root), &arguments).to_string()
        };
        let request = Request {
            name: &planned.name,
            arguments: &arguments,
            timeout: self.arm.plan.timeout,
        };
        let mut tries = 0;
        loop {
            self.arm.bucket.take().await;
            let sending = Sending {
                run: self.run.run,
                arm: self.run.arm,
                position: i64::try_from(position).unwrap_or(i64::MAX),
                name: planned.name.clone(),
                key: key.clone(),
                purpose: if tries == 0 { purpose } else { "retry" },
                arguments: arguments.clone(),
                budget: making.budget,
            };
            let Some(seq) = self.shared.ledger.before(sending).await? else {
                return Ok(None);
            };
            failpoint::pass("dual:counted");
            if making.budget.is_some() {
                self.reservation.used().await;
            }
            let mut answer =
                match tokio::time::timeout(request.timeout + GRACE, session.call(request)).await {
                    Ok(answer) => answer,
                    Err(_) => Answer::fault(
                        Fault::Lost,
                        (request.timeout + GRACE).as_secs_f64() * 1000.0,
                        "session_hangs",
                        "the session did not come back from the call",
                    ),
                };
            if self.arm.plan.snapshots
                && answer.fault.is_none()
                && answer.state_hash.is_none()
                && answer.state.is_none()
                && let Ok(Some(snapshot)) = session.snapshot().await
            {
                answer.state = snapshot.state;
                answer.state_hash = snapshot.hash;
            }
            failpoint::pass("dual:answered");
            let got = received(&answer, &more);
            if let Some(wait) = answer.retry_after {
                self.wait_asked(wait);
            }
            let again = answer.fault == Some(Fault::NotSent) && tries < self.arm.plan.retries;
            if making.keep {
                self.keep(position, purpose, &got);
            }
            self.shared.ledger.after(seq, got).await?;
            failpoint::pass("dual:kept");
            if !again {
                return Ok(Some(answer));
            }
            let backoff = self.arm.plan.backoff * 2u32.saturating_pow(tries.min(10));
            tokio::time::sleep(backoff.min(self.shared.plan.breaker.longest_wait)).await;
            tries += 1;
        }
    }

    /// Remembers a result for rebinding and probes.
    fn keep(&mut self, position: usize, purpose: &str, got: &Received) {
        if got.status == "not_sent" {
            return;
        }
        let place = &mut self.results[position];
        if purpose == "prefix" {
            let before = place.as_deref().map(Mark::of).unwrap_or_default();
            let changed = before.changed(&Mark::of(&got.answer));
            if changed != "same" {
                self.notes.push((
                    "prefix_differs",
                    format!("call {position}, made again, answered otherwise: {changed}"),
                ));
            }
        }
        *place = Some(got.answer.clone());
    }

    fn wait_asked(&self, wait: Duration) {
        let longest = self.shared.plan.breaker.longest_wait;
        if wait > longest {
            let why = format!(
                "it asks to wait {} s, longer than longest_wait = {} s",
                wait.as_secs(),
                longest.as_secs_f64()
            );
            self.world.breaker.give_up(&why);
        } else {
            self.arm.bucket.pause(wait);
        }
    }

    async fn finish(mut self, end: End) -> DualResult<Outcome> {
        let list = notes(self.notes.iter().map(|(kind, text)| (*kind, &**text)));
        let ledger = &self.shared.ledger;
        let outcome = match end {
            End::Cut(outcome) => {
                let ending = Ending {
                    status: "cut",
                    notes: list,
                    ..Ending::default()
                };
                ledger.end_run(self.run.run, ending).await?;
                outcome
            }
            End::Done(termination) => {
                if termination == "completed" || termination == "interrupted" {
                    self.world.breaker.worked();
                }
                let (labels, mark) = self.labels().await?;
                let ending = Ending {
                    status: "done",
                    termination: Some(termination.to_owned()),
                    notes: list,
                    labels: Some(labels),
                    mark,
                };
                ledger.end_run(self.run.run, ending).await?;
                Outcome::Done
            }
        };
        self.reservation.release().await;
        Ok(outcome)
    }
}

/// The value of a stored result.
fn value(result: &str) -> Option<String> {
    let doc = Doc::parse(result).ok()?;
    let root = doc.root();
    if let Some(structured) = root.get_some("structured_content") {
        return Some(canonical(structured).0);
    }
    value_of_text(root.get_some("content")?.raw())
}
