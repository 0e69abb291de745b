//! Taking connections until the end, and ending.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Answers that are on their way have so long when the end is asked for.
const GRACE: Duration = Duration::from_secs(2);

/// Answers every connection, at most `most` at once, until `stop` ends; then nobody
/// listens any more. What is under way is left to [`finish`].
pub(crate) async fn accept<H, F, B>(
    listener: TcpListener,
    http: http1::Builder,
    most: usize,
    stop: impl Future<Output = ()>,
    handle: H,
) -> GracefulShutdown
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return graceful,
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files: those that end make room.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        // Small answers must not wait for each other: without this 44 ms each.
        let _ = stream.set_nodelay(true);
        let handle = handle.clone();
        let service = service_fn(move |request| {
            let answer = handle(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client that goes away is no error.
            let _ = connection.await;
            drop(place);
        });
    }
}

/// Waits for the answers that are on their way, unless somebody wants the end at once.
pub(crate) async fn finish(graceful: GracefulShutdown, at_once: impl Future<Output = ()>) {
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(GRACE) => {}
        () = at_once => {}
    }
}
