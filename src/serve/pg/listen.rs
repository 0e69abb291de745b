//! Listening, and what all connections share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::access::Access;
use super::cancel::Cancels;
use super::error::PgError;
use super::reader::Grammar;
use super::run::STACK;
use super::shelf::Shelf;
use super::talk::talk;
use super::tls::Tls;

/// What one question, and all together, may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest time of a statement, with reading its rows. Clients may set less.
    pub timeout: Duration,
    /// Memory of one query, in bytes, before it writes to disk.
    pub memory: usize,
    /// What one query may write to disk, in bytes.
    pub spilled: u64,
    /// Pairs of rows that a join without a key may look at.
    pub pairs: u64,
    /// Queries that run at once; others wait.
    pub queries: usize,
    /// Connections at once; others are turned away.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            memory: 512 << 20,
            spilled: 8 << 30,
            pairs: 100_000_000,
            queries: std::thread::available_parallelism().map_or(4, |cores| 2 * cores.get()),
            connections: 100,
        }
    }
}

/// What all connections share.
pub(super) struct House {
    pub(super) shelf: Arc<Shelf>,
    pub(super) limits: Arc<Limits>,
    pub(super) places: Arc<Semaphore>,
    pub(super) cancels: Arc<Cancels>,
    pub(super) grammar: Arc<Grammar>,
    pub(super) access: Option<Access>,
    pub(super) tls: Option<Tls>,
}

/// SQL over the network.
pub struct PgServer {
    listener: std::net::TcpListener,
    address: SocketAddr,
    house: Arc<House>,
}

impl std::fmt::Debug for PgServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PgServer at {}", self.address)
    }
}

impl PgServer {
    /// Begins to listen over the lake of a folder.
    ///
    /// # Errors
    /// If the address is taken, there is no lake, or others could come in without a password, or read along:
    /// beyond this machine both `access` and `tls` must be there.
    pub fn bind(
        address: SocketAddr,
        lake: PathBuf,
        access: Option<Access>,
        tls: Option<Tls>,
        limits: Limits,
    ) -> Result<Self, PgError> {
        if !address.ip().is_loopback() && (access.is_none() || tls.is_none()) {
            return Err(PgError::Usage(format!(
                "{address} can be reached from other machines: give passwords (--pg-passwords FILE) and a certificate (--tls-cert FILE --tls-key FILE), or listen at 127.0.0.1"
            )));
        }
        let shelf = Shelf::new(lake)?;
        let what = format!("cannot listen at {address}");
        let listener = std::net::TcpListener::bind(address).map_err(PgError::io(&*what))?;
        listener
            .set_nonblocking(true)
            .map_err(PgError::io(&*what))?;
        let address = listener.local_addr().map_err(PgError::io(what))?;
        Ok(Self {
            listener,
            address,
            house: Arc::new(House {
                shelf: Arc::new(shelf),
                places: Arc::new(Semaphore::new(limits.queries.clamp(1, 1024))),
                limits: Arc::new(limits),
                cancels: Arc::default(),
                grammar: Arc::new(Grammar::new()),
                access,
                tls,
            }),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends; what runs then is broken off.
    ///
    /// # Errors
    /// If the system gives no threads or sockets.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), PgError> {
        // Statements are parsed where connections are: with a stack for deep ones.
        let runtime = Builder::new_multi_thread()
            .thread_stack_size(STACK)
            .thread_name("fidelake-pg")
            .enable_all()
            .build()
            .map_err(PgError::io("threads"))?;
        let accepting = runtime.spawn(accept(self.listener, self.house));
        let ended = tokio::select! {
            ended = accepting => ended.unwrap_or(Ok(())),
            () = stop => Ok(()),
        };
        runtime.shutdown_background();
        ended.map_err(PgError::io(format!("cannot listen at {}", self.address)))
    }
}

async fn accept(listener: std::net::TcpListener, house: Arc<House>) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(house.limits.connections.clamp(1, 100_000)));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: those that end make room.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let place = Arc::clone(&places).try_acquire_owned().ok();
        let house = Arc::clone(&house);
        connections.spawn(async move {
            // A client that goes away is no error.
            let _ = talk(stream, house, place.is_some()).await;
            drop(place);
        });
    }
}
