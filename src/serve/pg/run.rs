//! Running a query where it can be stopped, and where it harms nobody else.
//!
//! Each query has threads and memory of its own. A query that computes without a pause keeps its
//! thread busy whatever its client says, so that no timer of the same runtime would ever fire; from
//! outside, the rows are waited for no longer than the deadline.

use std::sync::Arc;
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};
use futures::{Stream, StreamExt as _, stream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::error::{code, of_query, refused};
use super::listen::Limits;
use super::plan::refuse_products;
use crate::engine::Engine;

/// Trees of statements are walked by recursion; only what is touched is memory.
pub(super) const STACK: usize = 128 << 20;

/// Planning takes at most so long.
const PLANNING: Duration = Duration::from_secs(10);

/// What a question needs beside itself.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) limits: Arc<Limits>,
    /// How many may run at once, over all connections.
    pub(super) places: Arc<Semaphore>,
    /// Counts how often the client said stop.
    pub(super) cancelled: watch::Receiver<u64>,
    /// When the answer must be there.
    pub(super) deadline: Instant,
}

/// Threads that are left behind when whoever waits for them does not want to any more: what computes
/// there ends at its next pause.
struct Aside(Option<Runtime>);

impl Aside {
    fn new(threads: usize) -> PgWireResult<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_stack_size(STACK)
            .thread_name("fidelake-query")
            .enable_all()
            .build();
        runtime
            .map(|runtime| Self(Some(runtime)))
            .map_err(PgWireError::IoError)
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(work);
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn canceled(why: &str) -> PgWireError {
    refused(code::CANCELED, why)
}

fn late() -> PgWireError {
    canceled("canceling statement due to statement timeout")
}

/// A thread that panicked, or was not there any more.
fn broke() -> PgWireError {
    refused(code::INTERNAL, "the query broke inside the server")
}

/// Does some planning, not longer than a plan may take.
pub(super) async fn plan_aside<T, F>(means: &Means, work: F) -> PgWireResult<T>
where
    T: Send + 'static,
    F: Future<Output = PgWireResult<T>> + Send + 'static,
{
    let aside = Aside::new(1)?;
    let (answer, answered) = oneshot::channel();
    aside.spawn(async move {
        let _ = answer.send(work.await);
    });
    let mut cancelled = means.cancelled.clone();
    cancelled.mark_unchanged();
    let deadline = means.deadline.min(Instant::now() + PLANNING);
    tokio::select! {
        answered = timeout_at(deadline, answered) => match answered {
            Ok(answered) => answered.map_err(|_| broke())?,
            Err(_) if deadline < means.deadline => Err(canceled(
                "canceling statement: it could not be planned within 10 s",
            )),
            Err(_) => Err(late()),
        },
        _ = cancelled.changed() => Err(canceled("canceling statement due to user request")),
    }
}

/// What comes from the threads of a query.
enum Part {
    Rows(RecordBatch),
    Failed(PgWireError),
    End,
}

/// The rows of a plan, from when the first is asked for.
pub(super) fn run(
    engine: Arc<Engine>,
    plan: LogicalPlan,
    means: Means,
) -> impl Stream<Item = PgWireResult<RecordBatch>> + Send + 'static {
    let begun = stream::once(async move { begin(engine, plan, means).await });
    begun.flat_map(|begun| match begun {
        Ok(running) => stream::unfold(Some(running), next).left_stream(),
        Err(error) => stream::once(async { Err(error) }).right_stream(),
    })
}

struct Running {
    parts: mpsc::Receiver<Part>,
    cancelled: watch::Receiver<u64>,
    deadline: Instant,
    /// Dropped with this: then nobody waits for the threads any more.
    _aside: Aside,
}

async fn begin(engine: Arc<Engine>, plan: LogicalPlan, means: Means) -> PgWireResult<Running> {
    let mut cancelled = means.cancelled.clone();
    cancelled.mark_unchanged();
    let deadline = means.deadline;
    let place = tokio::select! {
        place = timeout_at(deadline, Arc::clone(&means.places).acquire_owned()) => place,
        _ = cancelled.changed() => return Err(canceled("canceling statement due to user request")),
    };
    let place = place.map_err(|_| late())?.map_err(|_| broke())?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let aside = Aside::new(threads)?;
    let (send, parts) = mpsc::channel(2);
    aside.spawn(async move {
        let _place = place;
        // Whoever stopped reading without leaving does not keep the place.
        let last = match timeout_at(deadline, work(&engine, plan, &means.limits, &send)).await {
            Ok(Ok(())) => Part::End,
            Ok(Err(error)) => Part::Failed(error),
            Err(_) => Part::Failed(late()),
        };
        // Nobody may be there any more.
        let _ = send.send(last).await;
    });
    Ok(Running {
        parts,
        cancelled,
        deadline,
        _aside: aside,
    })
}

async fn work(
    engine: &Engine,
    plan: LogicalPlan,
    limits: &Limits,
    send: &mpsc::Sender<Part>,
) -> PgWireResult<()> {
    let state = bounded(engine, limits).map_err(|error| of_query(&error))?;
    let physical = state.create_physical_plan(&plan).await;
    let physical = physical.map_err(|error| of_query(&error))?;
    refuse_products(&physical, limits.pairs)?;
    let rows = execute_stream(physical, state.task_ctx());
    let mut rows = rows.map_err(|error| of_query(&error))?;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|error| of_query(&error))?;
        if send.send(Part::Rows(batch)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The engine's session with memory and files of its own.
fn bounded(engine: &Engine, limits: &Limits) -> datafusion::error::Result<SessionState> {
    let state = engine.context().state();
    let runtime = RuntimeEnvBuilder::from_runtime_env(state.runtime_env())
        .with_memory_pool(Arc::new(FairSpillPool::new(limits.memory)))
        .with_max_temp_directory_size(limits.spilled)
        .build_arc()?;
    Ok(SessionStateBuilder::new_from_existing(state)
        .with_runtime_env(runtime)
        .build())
}

async fn next(running: Option<Running>) -> Option<(PgWireResult<RecordBatch>, Option<Running>)> {
    let mut running = running?;
    let part = tokio::select! {
        biased;
        _ = running.cancelled.changed() => Part::Failed(canceled("canceling statement due to user request")),
        part = timeout_at(running.deadline, running.parts.recv()) => match part {
            Ok(part) => part.unwrap_or_else(|| Part::Failed(broke())),
            Err(_) => Part::Failed(late()),
        },
    };
    match part {
        Part::Rows(batch) => Some((Ok(batch), Some(running))),
        Part::Failed(error) => Some((Err(error), None)),
        Part::End => None,
    }
}
