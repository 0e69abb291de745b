//! Finding the records of a JSON document while it streams by: the elements of
//! its top array, or of an array under one key of its top object.
//!
//! It looks at brackets and quotes only; whether an element is valid is its
//! reader's business, so that one broken record never stops a file.

/// What a piece of the stream was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the current element.
    Element,
    /// The current element is complete.
    ElementEnd,
    /// Bytes of the document beside the elements (brackets of the array excluded).
    Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the array (top array wanted), or before the top object's brace.
    Start,
    /// In the top object, outside the wanted array.
    Top,
    /// In the array, between elements.
    Between,
    /// In an element.
    Element,
    /// After the array.
    After,
}

/// A resumable splitter; feed it the stream block by block.
#[derive(Debug)]
pub struct Splitter {
    key: Option<&'static str>,
    state: State,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// A key of the top object while it is read, quotes included.
    name: Vec<u8>,
    reading_name: bool,
    name_matches: bool,
    found: bool,
}

impl Splitter {
    /// For the top array, or the array under `key` of the top object.
    #[must_use]
    pub fn new(key: Option<&'static str>) -> Self {
        Self {
            key,
            state: State::Start,
            depth: 0,
            in_string: false,
            escaped: false,
            name: Vec::new(),
            reading_name: false,
            name_matches: false,
            found: false,
        }
    }

    /// Whether the wanted array was seen.
    #[must_use]
    pub fn found(&self) -> bool {
        self.found
    }

    /// Whether the stream may end here: the array was closed, or never began.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.state == State::After || !self.found
    }

    /// Cuts one block into pieces, in order.
    pub fn feed(&mut self, block: &[u8], out: &mut dyn FnMut(Piece, &[u8])) {
        let mut at = 0;
        while at < block.len() {
            at = match self.state {
                State::Start => self.start(block, at),
                State::Top => self.top(block, at, out),
                State::Between => self.between(block, at),
                State::Element => self.element(block, at, out),
                State::After if self.key.is_some() => self.top(block, at, out),
                State::After => block.len(),
            };
        }
    }

    fn start(&mut self, block: &[u8], at: usize) -> usize {
        match (block[at], self.key) {
            (b'[', None) => {
                self.found = true;
                self.state = State::Between;
            }
            (b'{', Some(_)) => self.state = State::Top,
            _ => {}
        }
        at + 1
    }

    /// Runs over the top object. Depth counts the brackets open inside it.
    fn top(&mut self, block: &[u8], from: usize, out: &mut dyn FnMut(Piece, &[u8])) -> usize {
        let mut at = from;
        while at < block.len() {
            let byte = block[at];
            if self.in_string {
                if self.reading_name {
                    self.name.push(byte);
                }
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    self.in_string = false;
                    if self.depth == 0 && self.reading_name {
                        self.reading_name = false;
                        let name = &self.name[..self.name.len() - 1];
                        self.name_matches = self.key.is_some_and(|key| key.as_bytes() == name);
                    }
                }
                at += 1;
                continue;
            }
            match byte {
                b'"' => {
                    self.in_string = true;
                    if self.depth == 0 && !self.name_matches {
                        self.reading_name = true;
                        self.name.clear();
                    }
                }
                b'[' if self.depth == 0
                    && self.name_matches
                    && self.state == State::Top
                    && !self.found =>
                {
                    out(Piece::Beside, &block[from..at]);
                    out(Piece::Beside, b"[");
                    self.found = true;
                    self.name_matches = false;
                    self.state = State::Between;
                    return at + 1;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b',' if self.depth == 0 => self.name_matches = false,
                _ => {}
            }
            at += 1;
        }
        out(Piece::Beside, &block[from..at]);
        at
    }

    fn between(&mut self, block: &[u8], at: usize) -> usize {
        match block[at] {
            b' ' | b'\n' | b'\r' | b'\t' | b',' => at + 1,
            b']' => {
                self.state = State::After;
                self.depth = 0;
                // The bracket stays for the text beside the elements.
                if self.key.is_some() { at } else { at + 1 }
            }
            _ => {
                self.state = State::Element;
                self.depth = 0;
                at
            }
        }
    }

    fn element(&mut self, block: &[u8], from: usize, out: &mut dyn FnMut(Piece, &[u8])) -> usize {
        let mut at = from;
        while at < block.len() {
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                match memchr::memchr2(b'"', b'\\', &block[at..]) {
                    None => {
                        out(Piece::Element, &block[from..]);
                        return block.len();
                    }
                    Some(n) => {
                        at += n;
                        if block[at] == b'"' {
                            self.in_string = false;
                        } else {
                            self.escaped = true;
                        }
                        at += 1;
                        continue;
                    }
                }
            }
            match block[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return self.end(block, from, at + 1, out);
                    }
                }
                b']' | b',' if self.depth == 0 => return self.end(block, from, at, out),
                _ => {}
            }
            at += 1;
        }
        out(Piece::Element, &block[from..]);
        at
    }

    fn end(
        &mut self,
        block: &[u8],
        from: usize,
        to: usize,
        out: &mut dyn FnMut(Piece, &[u8]),
    ) -> usize {
        out(Piece::Element, &block[from..to]);
        out(Piece::ElementEnd, &[]);
        self.state = State::Between;
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str, key: Option<&'static str>, block: usize) -> (Vec<String>, String, bool) {
        let mut splitter = Splitter::new(key);
        let (mut elements, mut current, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in text.as_bytes().chunks(block) {
            splitter.feed(chunk, &mut |piece, bytes| match piece {
                Piece::Element => current.extend_from_slice(bytes),
                Piece::ElementEnd => {
                    elements.push(String::from_utf8(std::mem::take(&mut current)).unwrap());
                }
                Piece::Beside => beside.extend_from_slice(bytes),
            });
        }
        if !current.is_empty() {
            elements.push(String::from_utf8(current).unwrap());
        }
        (
            elements,
            String::from_utf8(beside).unwrap(),
            splitter.complete(),
        )
    }

    #[test]
    fn elements_are_found_in_blocks_of_any_size() {
        let text = r#" [ {"a":"]},{"}, [1,[2]] , "x\"]", 12 ,null]"#;
        let wanted = [r#"{"a":"]},{"}"#, "[1,[2]]", r#""x\"]""#, "12 ", "null"];
        for block in 1..text.len() {
            let (elements, _, complete) = split(text, None, block);
            assert_eq!(elements, wanted, "block {block}");
            assert!(complete);
        }
    }

    #[test]
    fn an_array_under_a_key_leaves_the_rest_readable() {
        let text = r#"{"info":{"simulations":[9]},"x":"simulations","simulations":[{"i":1},{"i":2}],"tasks":[{"id":"}"}]}"#;
        for block in 1..text.len() {
            let (elements, beside, complete) = split(text, Some("simulations"), block);
            assert_eq!(elements, [r#"{"i":1}"#, r#"{"i":2}"#], "block {block}");
            let expected = r#""info":{"simulations":[9]},"x":"simulations","simulations":[],"tasks":[{"id":"}"}]}"#;
            assert_eq!(beside, expected, "block {block}");
            assert!(complete);
        }
    }

    #[test]
    fn a_cut_document_says_so() {
        let (elements, _, complete) = split(r#"[{"a":1},{"b":"#, None, 4);
        assert_eq!(elements, [r#"{"a":1}"#, r#"{"b":"#]);
        assert!(!complete);
    }

    proptest! {
        #[test]
        fn any_bytes_are_cut_without_panic(text in ".{0,60}", block in 1usize..9) {
            split_bytes(text.as_bytes(), block);
        }
    }

    fn split_bytes(bytes: &[u8], block: usize) {
        for key in [None, Some("a")] {
            let mut splitter = Splitter::new(key);
            for chunk in bytes.chunks(block) {
                splitter.feed(chunk, &mut |_, _| {});
            }
        }
    }
}
