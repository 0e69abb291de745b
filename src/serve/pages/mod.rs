//! The lake as pages: what one looks at in a browser, and the same as one file to mail.
//!
//! Pages are made here, whole, from queries of ours (`queries/pages/`); they work without
//! scripts. Payloads are not trusted: they are shown as text and nothing else, and the headers
//! of every answer leave a browser nothing to do with them (docs/pages.md).

mod answer;
mod asked;
mod base64;
mod book;
mod budget;
mod calls;
mod data;
mod door;
mod error;
mod frame;
mod grid;
mod heat;
mod layout;
mod links;
mod monitor;
mod overview;
mod patterns;
mod plot;
mod question;
mod report;
mod shelf;
mod sql;
mod table;
mod text;
mod trajectory;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioTimer;
use tokio::net::TcpListener;

pub use error::{PageError, PageResult};
pub use report::report;

use crate::monitor::Token;
use crate::web::{accept, finish};
use door::Door;
use shelf::Shelf;

/// A request must be there within this.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connections at once.
const CONNECTIONS: usize = 128;

/// The head of a request, in bytes.
const HEAD: usize = 64 << 10;

/// The pages of a lake, with an address.
#[derive(Debug)]
pub struct Pages {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
}

impl Pages {
    /// Opens the newest version of a lake and begins to listen. `state`: where a monitor keeps
    /// its state, if not in the lake. With a token only who has it may look.
    ///
    /// # Errors
    /// If the lake cannot be read, the address is taken, or it is reached from other machines
    /// and there is no token.
    pub async fn bind(
        address: SocketAddr,
        lake: &Path,
        state: Option<PathBuf>,
        token: Option<Token>,
    ) -> PageResult<Self> {
        let loopback = address.ip().is_loopback();
        if !loopback && token.is_none() {
            return Err(PageError::Wrong(format!(
                "{address} is reached from other machines, and who reaches it sees every payload: give --token-file FILE, and put a proxy with TLS before it, or listen on 127.0.0.1"
            )));
        }
        let failed = |source| PageError::Listen(address, source);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shelf = Shelf::open(lake).await?;
        let state = state.unwrap_or_else(|| monitor::usual(shelf.path()));
        Ok(Self {
            listener,
            address,
            door: Arc::new(Door {
                loopback,
                token,
                shelf,
                state,
            }),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(HEAD);
        let shelf = Arc::clone(&self.door.shelf);
        tokio::spawn(async move { shelf.warm().await });
        let door = self.door;
        let handle = move |request| {
            let door = Arc::clone(&door);
            async move { door.handle(request).await }
        };
        let graceful = accept(self.listener, http, CONNECTIONS, stop, handle).await;
        finish(graceful, std::future::pending()).await;
    }
}
