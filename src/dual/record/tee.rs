//! A body that is passed on frame by frame while a copy is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::exchange::Exchange;
use super::lines::{KEPT, MAX_LINE};
use super::sse::Events;

/// How a copy becomes messages.
#[derive(Debug)]
pub(super) enum Copy {
    /// The request: one message, or a batch.
    Request(Whole),
    /// An answer in one piece.
    Answer(Whole),
    /// An answer event by event.
    Events(Events),
    /// Not read.
    Nothing,
}

/// All bytes so far, within limits.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    over: u64,
}

impl Whole {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut whole = Self::default();
        whole.feed(bytes);
        whole
    }

    fn feed(&mut self, piece: &[u8]) {
        if self.over == 0 && self.bytes.len() + piece.len() <= MAX_LINE {
            self.bytes.extend_from_slice(piece);
        } else {
            self.over += piece.len() as u64;
        }
    }

    /// Its size, if not all of it is kept; what is kept then is short.
    pub(super) fn cut_from(&mut self) -> Option<u64> {
        if self.over == 0 {
            return None;
        }
        let size = self.bytes.len() as u64 + self.over;
        self.bytes.truncate(KEPT);
        Some(size)
    }
}

/// The body.
#[derive(Debug)]
pub(super) struct Tee<B> {
    inner: B,
    copy: Copy,
    exchange: Arc<Exchange>,
}

impl<B: Body<Data = Bytes> + Unpin> Tee<B> {
    pub(super) fn new(inner: B, copy: Copy, exchange: Arc<Exchange>) -> Self {
        let mut tee = Self {
            inner,
            copy,
            exchange,
        };
        if tee.inner.is_end_stream() {
            // Nobody will ask for a frame.
            tee.end();
        }
        tee
    }

    fn end(&mut self) {
        match std::mem::replace(&mut self.copy, Copy::Nothing) {
            Copy::Request(whole) => self.exchange.asked(whole),
            Copy::Answer(whole) => self.exchange.answered(whole),
            Copy::Events(_) | Copy::Nothing => {}
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Tee<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(piece) = frame.data_ref() {
                    let Self { copy, exchange, .. } = &mut *self;
                    match copy {
                        Copy::Request(whole) | Copy::Answer(whole) => whole.feed(piece),
                        Copy::Events(events) => {
                            events.feed(piece, &mut |event| exchange.event(event));
                        }
                        Copy::Nothing => {}
                    }
                }
                // Who reads the last byte need not wait for the end: the journal comes first.
                if self.inner.is_end_stream() {
                    self.end();
                }
            }
            Poll::Ready(None) => self.end(),
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
