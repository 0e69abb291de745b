//! What stands behind a replay that passes through what it cannot answer.

use std::time::Instant;

use super::error::DualResult;
use super::permission::{Declared, permitted, reading};
use super::run::{Making, Outcome, Running};
use super::shared::World;
use crate::env::{Answer, Fault, Session, Start};

/// A live session behind a replay.
pub(super) struct Behind<'a> {
    world: &'a World,
    pub(super) session: Box<dyn Session>,
    declared: Declared,
    /// Calls up to here were made in it, as far as they change something.
    upto: usize,
}

impl<'a> Running<'a> {
    /// Asks what stands behind a replay, in the state that the calls so far make.
    /// `None`: that is not permitted, so the answer stays unknown.
    pub(super) async fn pass_through(
        &mut self,
        position: usize,
    ) -> DualResult<Result<Option<(&'a World, Answer)>, Outcome>> {
        let mut behind = match self.behind.take() {
            Some(behind) => behind,
            None => match self.open_behind().await {
                Some(behind) => behind,
                None => return Ok(Err(Outcome::Down)),
            },
        };
        let world = behind.world;
        let answer = self.ask_behind(&mut behind, position).await;
        self.behind = Some(behind);
        Ok(answer?.map(|answer| answer.map(|answer| (world, answer))))
    }

    async fn open_behind(&mut self) -> Option<Behind<'a>> {
        let world = self.shared.worlds.get(self.world.through.as_deref()?)?;
        let start = self
            .task
            .start_state
            .clone()
            .map_or(Start::Fresh, Start::Given);
        let opened = async {
            let mut session = world.environment.open(&start).await?;
            match session.tools().await {
                Ok(tools) => Ok((session, tools)),
                Err(error) => {
                    session.close().await;
                    Err(error)
                }
            }
        };
        match opened.await {
            Ok((session, tools)) => Some(Behind {
                world,
                session,
                declared: Declared::of(world.environment.kind(), &tools),
                upto: 0,
            }),
            Err(error) => {
                world.breaker.failed(&error.to_string(), Instant::now());
                None
            }
        }
    }

    async fn ask_behind(
        &mut self,
        behind: &mut Behind<'a>,
        position: usize,
    ) -> DualResult<Result<Option<Answer>, Outcome>> {
        let mut wanted: Vec<usize> = (behind.upto..position)
            .filter(|at| !reading(&self.arm.plan, &behind.declared, &self.task.calls[*at].name))
            .collect();
        wanted.push(position);
        for at in &wanted {
            let name = &self.task.calls[*at].name;
            if !permitted(&self.arm.plan, Some(&behind.declared), name) {
                self.notes.push((
                    "not_passed_through",
                    format!("call {position}: {name} is not permitted"),
                ));
                return Ok(Ok(None));
            }
        }
        for at in wanted {
            let last = at == position;
            let making = Making {
                position: at,
                purpose: if last { "pass_through" } else { "prefix" },
                budget: self.arm.plan.budget,
                keep: last,
            };
            let Some(answer) = self.call(behind.session.as_mut(), making).await? else {
                return Ok(Err(Outcome::NoBudget));
            };
            behind.upto = at + 1;
            if last
                || answer
                    .fault
                    .is_some_and(|fault| fault.in_doubt() || fault == Fault::NotSent)
            {
                return Ok(Ok(Some(answer)));
            }
        }
        Ok(Ok(None))
    }
}
