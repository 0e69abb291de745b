//! Reads the messages in a copy of an event stream (WHATWG, server-sent events).

use super::lines::{KEPT, MAX_LINE};

/// One event with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'b> {
    pub(super) data: &'b [u8],
    /// Its size, if not all of it is here.
    pub(super) cut_from: Option<u64>,
    /// The id of this very event.
    pub(super) id: Option<&'b [u8]>,
}

/// The event under construction.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    over: u64,
    id: Option<Vec<u8>>,
    /// The last byte was a carriage return: a line feed belongs to it.
    after_return: bool,
    started: bool,
}

impl Events {
    /// Takes a piece of the stream, hands on every event that ends in it.
    pub(super) fn feed(&mut self, piece: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let mut rest = piece;
        if std::mem::take(&mut self.after_return) && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.keep(&rest[..at]);
            self.end_line(sink);
            let returned = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if returned {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
        }
        self.keep(rest);
    }

    fn keep(&mut self, part: &[u8]) {
        if self.line.len() + part.len() <= MAX_LINE && self.over == 0 {
            self.line.extend_from_slice(part);
            return;
        }
        let kept = self.line.len().min(KEPT);
        self.over += (self.line.len() - kept + part.len()) as u64;
        self.line.truncate(kept);
    }

    fn end_line(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if !std::mem::replace(&mut self.started, true) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event(sink);
            return;
        }
        let (field, value) = match memchr::memchr(b':', text) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                let room = MAX_LINE.saturating_sub(self.data.len()).min(value.len());
                self.over += (value.len() - room) as u64;
                self.data.extend_from_slice(&value[..room]);
            }
            b"id" if !value.is_empty() => self.id = Some(value.to_vec()),
            _ => {}
        }
    }

    fn end_event(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let data = std::mem::take(&mut self.data);
        let id = self.id.take();
        let over = std::mem::take(&mut self.over);
        if std::mem::take(&mut self.has_data) {
            let kept = if over > 0 {
                data.len().min(KEPT)
            } else {
                data.len()
            };
            sink(Event {
                data: &data[..kept],
                cut_from: (over > 0).then(|| data.len() as u64 + over),
                id: id.as_deref(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, Option<String>)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut seen = Vec::new();
        let mut parser = Events::default();
        for piece in pieces {
            parser.feed(piece, &mut |event| {
                seen.push((text(event.data), event.id.map(text)));
            });
        }
        seen
    }

    const STREAM: &[u8] = b": hello\n\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\rid\r\rretry: 3\n\ndata\n\ndata: never ended\n";

    #[test]
    fn every_end_of_line_and_every_field() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            events(&[STREAM]),
            [
                ("{\"a\":\n1}".to_owned(), some("1")),
                ("x".to_owned(), None),
                (String::new(), None),
            ]
        );
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_events_are_the_same(cut in 0..STREAM.len(), second in 0..STREAM.len()) {
            let (from, to) = (cut.min(second), cut.max(second));
            let pieces = [&STREAM[..from], &STREAM[from..to], &STREAM[to..]];
            prop_assert_eq!(events(&pieces), events(&[STREAM]));
        }
    }
}
