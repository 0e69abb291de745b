//! Opened states of a lake, shared by everybody who reads the same one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::engine::{Engine, EngineError, EngineResult};
use crate::lake::{At, Lake};

/// Makes an engine ready after it was opened.
pub(super) type Prepare = fn(&Engine) -> EngineResult<()>;

/// Opened states, by lake version. The newest asked for stays open, others for as long as
/// somebody reads them.
pub(super) struct Shelf {
    lake: PathBuf,
    prepare: Prepare,
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
    pub(super) fn new(lake: PathBuf, prepare: Prepare) -> EngineResult<Self> {
        Lake::open(&lake)?;
        Ok(Self {
            lake,
            prepare,
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
        let version = self.blocking(move |lake| Ok(lake.pin(&wanted)?.version().version));
        let version = version.await?;
        let known = held.all.get(&version).and_then(Weak::upgrade);
        let engine = match known {
            Some(engine) => engine,
            None => {
                let handle = Handle::current();
                let at = At::Version(version);
                let opened = self.blocking(move |lake| handle.block_on(Engine::open(lake, &at)));
                let engine = opened.await?;
                (self.prepare)(&engine)?;
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

    /// The catalog is a file, which is read without a pause, and by one thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Lake) -> EngineResult<T> + Send + 'static,
    ) -> EngineResult<T> {
        let path = self.lake.clone();
        tokio::task::spawn_blocking(move || work(&Lake::open(&path)?))
            .await
            .map_err(|_| EngineError::Run("the lake could not be opened".to_owned()))?
    }
}
