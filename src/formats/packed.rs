//! Files as they are kept: plain, gzip or zstd.

use std::io::{self, BufReader, Cursor, Read};

/// What the source holds, unpacked. How it is packed is told by its first bytes and never by
/// its name; zstd windows may have any size.
///
/// # Errors
/// If the source cannot be read, or its packing cannot be set up.
pub(crate) fn unpacked<'r>(mut source: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut first)?;
    let start = first.clone();
    let whole = BufReader::with_capacity(1 << 20, Cursor::new(start).chain(source));
    Ok(match first.as_slice() {
        [0x1F, 0x8B, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        [0x28, 0xB5, 0x2F, 0xFD] => {
            let mut decoder = zstd::Decoder::with_buffer(whole)?;
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
        _ => Box::new(whole),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        unpacked(bytes).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn each_packing_gives_what_was_packed() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"hello").unwrap();
        assert_eq!(read(&gzip.finish().unwrap()), "hello");
        assert_eq!(read(&zstd::encode_all(&b"hello"[..], 1).unwrap()), "hello");
        for plain in ["", "a", "abc", "hello"] {
            assert_eq!(read(plain.as_bytes()), plain);
        }
        assert!(
            unpacked(&[0x1F, 0x8B, 0, 0][..])
                .unwrap()
                .read(&mut [0; 8])
                .is_err()
        );
    }
}
