//! One version of a lake, and the answers that were given from it.
//!
//! A version never changes, so an answer is kept as long as the version is open. Questions have
//! a limit of time, and only a few are worked on at once: a reader who leaves or asks for too
//! much must not keep the others waiting.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use tokio::sync::{OnceCell, Semaphore};

use super::error::{PageError, PageResult};
use super::question::{CALLS, ENVIRONMENTS, HEAT, OVER_TIME, Question, SPREAD};
use crate::engine::{Engine, Rows};
use crate::lake::LakeVersion;

/// A question may take so long.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// Questions that are worked on at once.
const AT_ONCE: usize = 4;

/// Rows of an answer that are kept in memory for a page.
const MOST_ROWS: usize = 20_000;

/// Answers that are kept.
const KEPT: usize = 64;

/// Rows, and whether there are more than were read.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) schema: SchemaRef,
    pub(super) batches: Vec<RecordBatch>,
    /// There are more rows.
    pub(super) more: bool,
}

/// A question with its values.
type Key = (&'static str, Vec<Option<String>>);

/// A question with its values, and which rows of the answer.
type Part = (Key, usize, usize);

/// One version.
pub(super) struct Book {
    engine: Engine,
    places: Semaphore,
    answers: Mutex<HashMap<Part, Arc<OnceCell<Arc<Answer>>>>>,
    counts: Mutex<HashMap<Key, usize>>,
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Book")
            .field("version", &self.version().version)
            .finish_non_exhaustive()
    }
}

impl Book {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            places: Semaphore::new(AT_ONCE),
            answers: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    pub(super) fn version(&self) -> &LakeVersion {
        self.engine.version()
    }

    /// For what is no query of ours; see [`Self::limited`].
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Works on something within the limits.
    pub(super) async fn limited<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> PageResult<T>
    where
        PageError: From<E>,
    {
        let all = async {
            let _place = self.places.acquire().await.map_err(|_| PageError::Busy)?;
            Ok(work.await?)
        };
        match tokio::time::timeout(LIMIT, all).await {
            Ok(done) => done,
            Err(_) if self.places.available_permits() == 0 => Err(PageError::Busy),
            Err(_) => Err(PageError::Late(LIMIT.as_secs())),
        }
    }

    /// The whole answer to a question, from memory if it was given before.
    pub(super) async fn ask(
        &self,
        question: &Question,
        values: &[Option<String>],
    ) -> PageResult<Arc<Answer>> {
        self.part(question, values, 0, MOST_ROWS).await
    }

    /// Some of the rows of an answer, from memory if they were given before.
    pub(super) async fn part(
        &self,
        question: &Question,
        values: &[Option<String>],
        skip: usize,
        most: usize,
    ) -> PageResult<Arc<Answer>> {
        let cell = {
            let mut held = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            if held.len() >= KEPT {
                held.clear();
            }
            let key = ((question.name, values.to_vec()), skip, most);
            Arc::clone(held.entry(key).or_default())
        };
        // Who asks the same meanwhile waits for the same work.
        let work = || async {
            let answer = self.read(question, values, skip, most).await;
            answer.map(Arc::new)
        };
        cell.get_or_try_init(work).await.map(Arc::clone)
    }

    async fn read(
        &self,
        question: &Question,
        values: &[Option<String>],
        skip: usize,
        most: usize,
    ) -> PageResult<Answer> {
        self.limited(async {
            let mut rows = self.rows(question, values, skip, most + 1).await?;
            let mut batches = Vec::new();
            let mut left = most;
            let mut more = false;
            while let Some(batch) = rows.next().await? {
                more |= batch.num_rows() > left;
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                if batch.num_rows() > 0 {
                    batches.push(batch);
                }
            }
            let schema = batches.first().map_or(rows.schema(), RecordBatch::schema);
            Ok::<_, PageError>(Answer {
                schema,
                batches,
                more,
            })
        })
        .await
    }

    /// Rows as they come, for a file; the caller keeps the time.
    pub(super) async fn rows(
        &self,
        question: &Question,
        values: &[Option<String>],
        skip: usize,
        most: usize,
    ) -> PageResult<Rows> {
        let bound = question.bound(values);
        Ok(self
            .engine
            .stream_part(question.sql, &bound, skip, most)
            .await?)
    }

    /// How many rows an answer has.
    pub(super) async fn count(
        &self,
        question: &Question,
        values: &[Option<String>],
    ) -> PageResult<usize> {
        let key = (question.name, values.to_vec());
        let known = {
            let held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            held.get(&key).copied()
        };
        if let Some(count) = known {
            return Ok(count);
        }
        let bound = question.bound(values);
        let count = self
            .limited(self.engine.count_with(question.sql, &bound))
            .await?;
        let mut held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= KEPT {
            held.clear();
        }
        held.insert(key, count);
        Ok(count)
    }

    /// Answers what the first pages ask, so that they need not wait. What fails here fails
    /// again, and is told, when it is asked.
    pub(super) async fn warm(&self) {
        let _ = self.ask(&ENVIRONMENTS, &[]).await;
        let _ = self.ask(&HEAT, &[None]).await;
        let _ = self.ask(&OVER_TIME, &[]).await;
        let _ = self.ask(&SPREAD, &[]).await;
        let _ = self
            .part(&CALLS, &vec![None; 4], 0, super::calls::ROWS)
            .await;
    }
}
