//! The journal's thread: what is written before and after every call.
//!
//! Nothing is sent before its row is durable. Durable means a sync of the disk,
//! which takes milliseconds, so one thread gathers what several calls in flight
//! want to write at one moment into one transaction. Each of them stands in a
//! savepoint of its own and is told only after the commit.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::{DualError, DualResult};
use crate::lake::{LakeError, journal};

/// So many pieces of work share one transaction at most.
const TOGETHER: usize = 256;

type Tell = Box<dyn FnOnce(Result<(), String>) + Send>;
type Work = Box<dyn FnOnce(Result<&Connection, String>) -> Tell + Send>;

/// A handle to the thread; it ends with the last handle.
#[derive(Clone)]
pub(super) struct Journal {
    send: Sender<Work>,
    path: PathBuf,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal of a lake.
    pub(super) fn open(lake: &Path, tables: &str) -> DualResult<Self> {
        let db = journal::connect(lake, tables)?;
        let (send, receive) = channel();
        std::thread::spawn(move || serve(db, &receive));
        Ok(Self {
            send,
            path: journal::path(lake),
        })
    }

    /// Does some work in a transaction and comes back when it is durable.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> DualResult<T> {
        let (tell, told) = oneshot::channel();
        let job: Work = Box::new(move |db| {
            let done = db.map(|db| in_savepoint(db, work));
            Box::new(move |committed: Result<(), String>| {
                let _ = tell.send(committed.and(done));
            })
        });
        let gone = |why: &str| DualError::Journal {
            path: self.path.clone(),
            why: why.to_owned(),
        };
        self.send
            .send(job)
            .map_err(|_| gone("its thread has ended"))?;
        match told.await {
            Ok(Ok(done)) => done.map_err(|e| LakeError::catalog(&self.path, e).into()),
            Ok(Err(why)) => Err(gone(&why)),
            Err(_) => Err(gone("its thread has ended")),
        }
    }

    /// Gives the space of removed payloads back, outside of any transaction.
    pub(super) fn tidy(lake: &Path) -> DualResult<()> {
        let db = journal::connect(lake, "")?;
        let path = journal::path(lake);
        // Whoever reads at this moment keeps the log; the next time takes it.
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|e| LakeError::catalog(&path, e))?;
        Ok(())
    }
}

fn in_savepoint<T>(
    db: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    db.execute_batch("SAVEPOINT work")?;
    let done = work(db);
    db.execute_batch(match done {
        Ok(_) => "RELEASE work",
        Err(_) => "ROLLBACK TO work; RELEASE work",
    })?;
    done
}

fn serve(db: Connection, receive: &Receiver<Work>) {
    while let Ok(first) = receive.recv() {
        if let Err(error) = db.execute_batch("BEGIN IMMEDIATE") {
            let why = error.to_string();
            first(Err(why.clone()))(Err(why));
            continue;
        }
        let mut told = vec![first(Ok(&db))];
        while told.len() < TOGETHER {
            match receive.try_recv() {
                Ok(work) => told.push(work(Ok(&db))),
                Err(_) => break,
            }
        }
        let committed = db.execute_batch("COMMIT").map_err(|e| {
            let _ = db.execute_batch("ROLLBACK");
            e.to_string()
        });
        for tell in told {
            tell(committed.clone());
        }
    }
}
