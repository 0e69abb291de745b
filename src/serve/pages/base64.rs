//! Base64, as a browser sends a password in it.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding may be missing, and what is left over in the last letter is not looked at.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The bytes; none if the text is no base64.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn what_browsers_send() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("dTpw", "u:p"),
        ] {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decoded("a"), None);
        assert_eq!(decoded("ab*d"), None);
    }
}
