//! Opened states of a lake, shared by everybody who reads the same one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use datafusion_postgres::datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_postgres::datafusion_pg_catalog::setup_pg_catalog;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::grown;
use crate::engine::{Engine, EngineError, EngineResult};
use crate::lake::{At, Lake};
use crate::serve::opened::{opened, with_lake};

/// Opened states, by lake version. The newest asked for stays open, others for as long as
/// somebody reads them.
pub(super) struct Shelf {
    lake: PathBuf,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    newest: Option<Arc<Engine>>,
    all: HashMap<i64, Weak<Engine>>,
}

impl Shelf {
    /// Over the lake of a folder.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn new(lake: PathBuf) -> EngineResult<Self> {
        Lake::open(&lake)?;
        Ok(Self {
            lake,
            held: Mutex::new(Held::default()),
        })
    }

    /// The lake as it is or was then.
    ///
    /// # Errors
    /// If there is no such state, or it cannot be read.
    pub(super) async fn open(&self, at: &At) -> EngineResult<Arc<Engine>> {
        // Whoever comes at the same time waits, instead of opening the same once more.
        let mut held = self.held.lock().await;
        let wanted = at.clone();
        let version = with_lake(&self.lake, move |lake| {
            Ok(lake.pin(&wanted)?.version().version)
        });
        let version = ended(version).await?;
        let known = held.all.get(&version).and_then(Weak::upgrade);
        let engine = match known {
            Some(engine) => engine,
            None => {
                let engine = ended(opened(&self.lake, At::Version(version))).await?;
                show_catalogue(&engine)?;
                grown::bound(engine.context());
                let engine = Arc::new(engine);
                held.all.retain(|_, engine| engine.strong_count() > 0);
                held.all.insert(version, Arc::downgrade(&engine));
                engine
            }
        };
        if *at == At::Newest {
            held.newest = Some(Arc::clone(&engine));
        }
        Ok(engine)
    }
}

/// What a thread of its own found.
async fn ended<T>(work: JoinHandle<EngineResult<T>>) -> EngineResult<T> {
    let done = work.await;
    done.map_err(|_| EngineError::Run("the lake could not be opened".to_owned()))?
}

/// Shows the catalogue that PostgreSQL's clients ask for.
fn show_catalogue(engine: &Engine) -> EngineResult<()> {
    let state = engine.context().state();
    let catalog = &state.config_options().catalog.default_catalog;
    setup_pg_catalog(engine.context(), catalog, EmptyContextProvider)
        .map_err(|error| EngineError::Run(error.to_string()))
}
