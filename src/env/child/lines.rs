//! Lines of a stream that may be endless, and may never break.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::env) enum Line {
    /// A whole line; the last may lack its newline.
    Whole(Vec<u8>),
    /// Longer than the limit: its first bytes, and how long it was.
    TooLong { head: Vec<u8>, bytes: u64 },
    /// The stream has ended.
    End,
}

/// How much of a line that is too long is kept.
const HEAD: usize = 4096;

/// Reads lines within a limit. [`Self::next`] may be dropped and called again:
/// what was read so far stays here.
#[derive(Debug)]
pub(in crate::env) struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    /// Bytes of the line at hand that were dropped.
    dropped: u64,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(in crate::env) fn new(read: R, limit: usize) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            limit: limit.max(HEAD),
            dropped: 0,
        }
    }

    /// The next line. An error of the stream is its end.
    pub(in crate::env) async fn next(&mut self) -> Line {
        loop {
            // Nothing is consumed while waiting, so dropping this future loses nothing.
            let available = match self.read.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => return self.last(),
            };
            let newline = memchr::memchr(b'\n', available);
            let taken = newline.map_or(available.len(), |at| at + 1);
            let text = &available[..newline.unwrap_or(taken)];
            if self.dropped > 0 || self.line.len() + text.len() > self.limit {
                let room = HEAD.saturating_sub(self.line.len()).min(text.len());
                self.line.extend_from_slice(&text[..room]);
                let before = self.line.len();
                self.line.truncate(HEAD);
                self.dropped += (text.len() - room + before - self.line.len()) as u64;
            } else {
                self.line.extend_from_slice(text);
            }
            self.read.consume(taken);
            if newline.is_some() {
                return self.taken();
            }
        }
    }

    fn last(&mut self) -> Line {
        if self.line.is_empty() {
            Line::End
        } else {
            self.taken()
        }
    }

    fn taken(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let bytes = line.len() as u64 + dropped;
            return Line::TooLong { head: line, bytes };
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Whole(line)
    }
}

/// Bytes as text. What is not UTF-8 becomes `\xNN`, escaped for JSON.
pub(in crate::env) fn text(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(bytes, limit);
        let mut found = Vec::new();
        loop {
            let line = lines.next().await;
            let end = line == Line::End;
            found.push(line);
            if end {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn lines_end_with_either_newline_and_the_last_with_none() {
        let found = all(b"a\r\n\nb", 10).await;
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(found, [whole("a"), whole(""), whole("b"), Line::End]);
    }

    #[tokio::test]
    async fn a_line_without_end_costs_no_memory_and_the_next_is_read() {
        let mut bytes = vec![b'x'; 1 << 20];
        bytes.extend_from_slice(b"\nnext\n");
        let found = all(&bytes, 5000).await;
        let Line::TooLong { head, bytes } = &found[0] else {
            panic!("{:?}", found[0]);
        };
        assert_eq!((head.len(), *bytes), (HEAD, 1 << 20));
        assert_eq!(found[1], Line::Whole(b"next".to_vec()));
    }

    #[tokio::test]
    async fn a_line_at_its_limit_is_whole() {
        let mut bytes = vec![b'x'; 5000];
        bytes.push(b'\n');
        assert_eq!(all(&bytes, 5000).await[0], Line::Whole(vec![b'x'; 5000]));
    }

    #[test]
    fn bytes_that_are_no_text_stay_readable() {
        assert_eq!(text(b"\"a\xff\"".to_vec()), r#""a\\xff""#);
    }
}
