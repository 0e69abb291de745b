//! Messages of a bounded size: the library would take one of a GiB.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Longest message of a client, in bytes.
pub(super) const LONGEST: usize = 8 << 20;

/// A stream that breaks off where a message is too long.
pub(super) struct Sized<S> {
    inner: S,
    lengths: Lengths,
}

impl<S> Sized<S> {
    /// `read` has come already, from the first message on.
    ///
    /// # Errors
    /// If what has come is too long.
    pub(super) fn new(inner: S, read: &[u8]) -> io::Result<Self> {
        let mut lengths = Lengths::default();
        lengths.pass(read)?;
        Ok(Self { inner, lengths })
    }
}

/// Follows the lengths of messages: `type, length, rest`, the first one without a type.
#[derive(Debug, Default)]
struct Lengths {
    typed: bool,
    head: Vec<u8>,
    left: usize,
}

impl Lengths {
    fn pass(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = if self.typed { 5 } else { 4 };
            let taken = (wanted - self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            let Some(length) = self.head.get(wanted - 4..wanted) else {
                continue;
            };
            let length = length
                .iter()
                .fold(0usize, |length, byte| length << 8 | usize::from(*byte));
            if length > LONGEST {
                let why = format!("a message of {length} bytes; at most {LONGEST} are taken");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            self.left = length.saturating_sub(4);
            self.typed = true;
            self.head.clear();
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Sized<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(self.lengths.pass(read))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sized<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn message(kind: Option<u8>, length: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = kind.into_iter().collect();
        bytes.extend(length.to_be_bytes());
        bytes.resize(
            bytes.len() + usize::try_from(length).unwrap().min(64) - 4,
            0,
        );
        bytes
    }

    #[test]
    fn long_messages_are_seen_however_the_bytes_come() {
        let mut fine = message(None, 20);
        fine.extend(message(Some(b'Q'), 64));
        fine.extend(message(Some(b'X'), 4));
        let long = [fine.clone(), message(Some(b'P'), 1 << 30)].concat();
        for step in [1, 2, 3, 7, 1000] {
            let pass = |bytes: &[u8]| {
                let mut lengths = Lengths::default();
                bytes.chunks(step).try_for_each(|some| lengths.pass(some))
            };
            assert!(pass(&fine).is_ok(), "{step}");
            let error = pass(&long).unwrap_err().to_string();
            assert!(error.contains("1073741824 bytes"), "{error}");
        }
    }
}
