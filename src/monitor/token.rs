//! Who may change the state: whoever has the token.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use fidelake_core::json::key::Key;

use super::error::{MonitorError, MonitorResult};

/// Shorter tokens can be guessed.
const SHORTEST: usize = 16;

/// A token, kept as its hash.
#[derive(Clone, Copy, Debug)]
pub struct Token(Key);

impl Token {
    /// Reads the token of a file; if there is none and `make`, a new one is written, for its owner only.
    ///
    /// # Errors
    /// If the file cannot be read or made, or what it holds is too short.
    pub fn read(path: &Path, make: bool) -> MonitorResult<Self> {
        if make && !path.exists() {
            let mut bytes = [0u8; 24];
            getrandom::getrandom(&mut bytes)
                .map_err(|error| MonitorError::io("no random numbers")(error.into()))?;
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .open(path)
                .and_then(|mut file| writeln!(file, "{text}"))
                .map_err(MonitorError::io(format!("cannot make {}", path.display())))?;
        }
        let text = std::fs::read_to_string(path)
            .map_err(MonitorError::io(format!("cannot read {}", path.display())))?;
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(MonitorError::Usage(format!(
                "{}: a token has at least {SHORTEST} characters",
                path.display()
            )));
        }
        Ok(Self(Key::of(text.as_bytes())))
    }

    /// Whether a header `Authorization: Bearer ...` carries it. Hashes are compared, so that the time
    /// it takes tells nothing of the token.
    #[must_use]
    pub fn is_in(&self, header: Option<&str>) -> bool {
        let bearer = header.and_then(|text| {
            let (scheme, token) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        bearer.is_some_and(|token| self.is(token))
    }

    /// Whether the text is it.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        Key::of(text.as_bytes()) == self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_made_read_and_compared() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        assert!(Token::read(&path, false).is_err());
        let token = Token::read(&path, true).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim().len(), 48);
        assert!(token.is_in(Some(&format!("Bearer {text}"))));
        assert!(
            Token::read(&path, true)
                .unwrap()
                .is_in(Some(&format!("bearer {text}")))
        );
        for wrong in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer x"),
            Some(text.trim()),
        ] {
            assert!(!token.is_in(wrong));
        }
        std::fs::write(&path, "short\n").unwrap();
        assert!(matches!(
            Token::read(&path, true),
            Err(MonitorError::Usage(_))
        ));
    }
}
