//! Reading a lake's catalog where waiting harms nobody: it is a file, and its handle stays on one
//! thread.

use std::path::Path;

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::engine::{Engine, EngineResult};
use crate::lake::{At, Lake};

/// Does something with the lake of a folder.
pub(super) fn with_lake<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Lake) -> EngineResult<T> + Send + 'static,
) -> JoinHandle<EngineResult<T>> {
    let path = path.to_owned();
    spawn_blocking(move || work(&Lake::open(&path)?))
}

/// Opens a state of the lake of a folder.
pub(super) fn opened(path: &Path, at: At) -> JoinHandle<EngineResult<Engine>> {
    let runtime = Handle::current();
    with_lake(path, move |lake| runtime.block_on(Engine::open(lake, &at)))
}
