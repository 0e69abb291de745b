//! Stopping what runs, when its client says so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion_postgres::pgwire::api::ClientInfo;
use datafusion_postgres::pgwire::api::cancel::CancelHandler;
use datafusion_postgres::pgwire::messages::cancel::CancelRequest;
use tokio::sync::watch;

/// Number of the connection's process, and the secret that only its client was told.
type Name = (i32, Bytes);

/// All connections that can be told to stop.
#[derive(Debug, Default)]
pub(super) struct Cancels {
    all: Mutex<HashMap<Name, watch::Sender<u64>>>,
}

impl Cancels {
    /// From now on, `cancel` stops what runs in this connection, until the place is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        client: &impl ClientInfo,
        cancel: watch::Sender<u64>,
    ) -> Place {
        let (pid, secret) = client.pid_and_secret_key();
        let name = (pid, secret.to_bytes());
        self.with(|all| all.insert(name.clone(), cancel));
        Place {
            cancels: Arc::clone(self),
            name,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<Name, watch::Sender<u64>>) -> T) -> T {
        work(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CancelHandler for Cancels {
    async fn on_cancel_request(&self, request: CancelRequest) {
        let name = (request.pid, request.secret_key.to_bytes());
        self.with(|all| {
            if let Some(cancel) = all.get(&name) {
                cancel.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
    }
}

/// A connection's entry among all.
#[derive(Debug)]
pub(super) struct Place {
    cancels: Arc<Cancels>,
    name: Name,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.cancels.with(|all| all.remove(&self.name));
    }
}
