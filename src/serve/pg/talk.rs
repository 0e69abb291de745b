//! A connection from its first byte to its last.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use datafusion_postgres::pgwire::api::ClientInfo as _;
use datafusion_postgres::pgwire::api::NoopHandler;
use datafusion_postgres::pgwire::api::PgWireConnectionState;
use datafusion_postgres::pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use datafusion_postgres::pgwire::tokio::server::{
    MaybeTls, PgWireMessageServerCodec, negotiate_tls, process_error, process_message,
};
use futures::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::codec::{Framed, FramedParts};

use super::access::Door;
use super::error::{fatal, made_fatal};
use super::handler::{Connection, Handler};
use super::listen::House;
use super::reader::Read;
use super::sized::Sized;

/// Whoever has not logged in by then is let go.
const LOGIN: Duration = Duration::from_secs(20);

/// After the longest statement, a client that does not take its rows is let go.
const GRACE: Duration = Duration::from_secs(30);

type Socket = Framed<Sized<MaybeTls>, PgWireMessageServerCodec<Read>>;

/// Speaks with a client until it leaves.
///
/// # Errors
/// If the network breaks off.
pub(super) async fn talk(stream: TcpStream, house: Arc<House>, room: bool) -> io::Result<()> {
    let until = Instant::now() + LOGIN;
    let acceptor = house.tls.as_ref().map(|tls| tls.acceptor.clone());
    let Ok(negotiated) = timeout_at(until, negotiate_tls(stream, acceptor)).await else {
        return Ok(());
    };
    let Some(framed) = negotiated? else {
        return Ok(());
    };
    let old = framed.into_parts();
    let mut parts =
        FramedParts::new::<PgWireBackendMessage>(Sized::new(old.io, &old.read_buf)?, old.codec);
    parts.read_buf = old.read_buf;
    parts.write_buf = old.write_buf;
    let mut socket: Socket = Framed::from_parts(parts);
    if !room {
        let full = fatal("53300", "too many connections: try again later");
        return process_error(&mut socket, full, false).await;
    }

    let connection = Arc::new(Connection::new(Arc::clone(&house)));
    let door = Door::new(
        Arc::clone(&connection),
        house.access.as_ref(),
        house.tls.as_ref(),
    );
    let door = Arc::new(door);
    let handler = Arc::new(Handler(Arc::clone(&connection)));
    let patience = house.limits.timeout + GRACE;
    loop {
        let message = if connection.is_admitted() {
            socket.next().await
        } else {
            match timeout_at(until, socket.next()).await {
                Ok(message) => message,
                Err(_) => return Ok(()),
            }
        };
        let message = match message {
            None | Some(Ok(PgWireFrontendMessage::Terminate(_))) => return Ok(()),
            Some(Err(error)) => return process_error(&mut socket, made_fatal(error), false).await,
            Some(Ok(message)) => message,
        };
        let extended = match socket.state() {
            PgWireConnectionState::CopyInProgress(extended) => extended,
            _ => message.is_extended_query(),
        };
        let done = process_message(
            message,
            &mut socket,
            Arc::clone(&door),
            Arc::clone(&handler),
            Arc::clone(&handler),
            Arc::new(NoopHandler),
            Arc::clone(&house.cancels),
        );
        let Ok(done) = timeout(patience, done).await else {
            // Nobody reads any more.
            return socket.close().await;
        };
        if let Err(error) = done {
            process_error(&mut socket, error, extended).await?;
        }
    }
}
