//! The lake, opened: one session per lake version, kept as long as it is the newest.
//!
//! Opening a version and adding it up takes longer than a page may take. So when a lake has a
//! newer version, its first reader waits a moment for it, and whoever comes meanwhile still
//! gets the one before, which says so.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::book::Book;
use super::error::{PageError, PageResult};
use crate::engine::EngineResult;
use crate::lake::{At, LakeVersion};
use crate::serve::opened::{opened, with_lake};

/// A reader waits so long for a newer version before it gets the one before.
const MOMENT: Duration = Duration::from_millis(150);

/// Versions that are kept open beside the newest.
const PINNED: usize = 3;

/// All open versions of a lake.
#[derive(Debug)]
pub(super) struct Shelf {
    path: PathBuf,
    newest: RwLock<Arc<Book>>,
    pinned: Mutex<Vec<Arc<Book>>>,
    /// Held by who opens a newer version.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl Shelf {
    /// Opens the newest version of a lake.
    pub(super) async fn open(path: &Path) -> PageResult<Arc<Self>> {
        let book = open(path, At::Newest).await?;
        Ok(Arc::new(Self {
            path: path.to_owned(),
            newest: RwLock::new(Arc::new(book)),
            pinned: Mutex::default(),
            opening: Arc::default(),
        }))
    }

    /// Name of the lake's folder.
    pub(super) fn name(&self) -> String {
        let path = self.path.canonicalize();
        let path = path.as_deref().unwrap_or(&self.path);
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The lake's folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The version that is asked for, or the newest one, with the number of the newest.
    pub(super) async fn book(
        self: &Arc<Self>,
        version: Option<i64>,
    ) -> PageResult<(Arc<Book>, i64)> {
        let newest = newest(&self.path).await?;
        let number = newest.version;
        if let Some(version) = version
            && version != number
        {
            return Ok((self.pinned(version).await?, number));
        }
        let current = self.current();
        if same(current.version(), &newest) {
            return Ok((current, number));
        }
        let shelf = Arc::clone(self);
        let opening = tokio::spawn(async move { shelf.renew().await });
        // A pinned page must not show another version than the one that it names.
        let moment = if version.is_some() {
            super::book::LIMIT
        } else {
            MOMENT
        };
        match tokio::time::timeout(moment, opening).await {
            Ok(Ok(done)) => done?,
            Ok(Err(error)) => return Err(PageError::Broken(error.to_string())),
            Err(_) if version.is_some() => return Err(PageError::Busy),
            Err(_) => {}
        }
        Ok((self.current(), number))
    }

    fn current(&self) -> Arc<Book> {
        let held = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held)
    }

    /// Opens the newest version and adds it up, unless somebody just did.
    async fn renew(&self) -> PageResult<()> {
        let _only = self.opening.lock().await;
        let newest = newest(&self.path).await?;
        let current = self.current();
        if same(current.version(), &newest) {
            return Ok(());
        }
        let book = Arc::new(open(&self.path, At::Newest).await?);
        book.warm().await;
        let mut held = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        *held = book;
        Ok(())
    }

    /// Adds the newest version up, before anybody asks.
    pub(super) async fn warm(&self) {
        self.current().warm().await;
    }

    async fn pinned(&self, version: i64) -> PageResult<Arc<Book>> {
        let found = {
            let held = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
            let found = held.iter().find(|book| book.version().version == version);
            found.map(Arc::clone)
        };
        if let Some(book) = found {
            return Ok(book);
        }
        let book = Arc::new(open(&self.path, At::Version(version)).await?);
        let mut held = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        held.truncate(PINNED - 1);
        held.insert(0, Arc::clone(&book));
        Ok(book)
    }
}

/// A lake that was removed and made again counts its versions anew.
fn same(a: &LakeVersion, b: &LakeVersion) -> bool {
    (a.version, &a.id, &a.time) == (b.version, &b.id, &b.time)
}

async fn newest(path: &Path) -> PageResult<LakeVersion> {
    in_time(with_lake(path, |lake| Ok(lake.newest()?))).await
}

async fn open(path: &Path, at: At) -> PageResult<Book> {
    in_time(opened(path, at)).await.map(Book::new)
}

async fn in_time<T>(work: JoinHandle<EngineResult<T>>) -> PageResult<T> {
    match tokio::time::timeout(super::book::LIMIT, work).await {
        Ok(Ok(found)) => Ok(found?),
        Ok(Err(error)) => Err(PageError::Broken(error.to_string())),
        Err(_) => Err(PageError::Late(super::book::LIMIT.as_secs())),
    }
}
