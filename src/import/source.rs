//! One source of records: a file, plain or compressed, or standard input.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use fidelake_core::json::key::{Key, KeyHasher};
use fidelake_core::json::{Doc, Piece, Splitter};

use super::ImportError;
use crate::formats::{Detected, Format, Framing, detect, tau2::Header};

/// So much of the beginning is looked at to tell what a source is.
const HEAD_BYTES: usize = 4 << 20;

/// More than this beside the simulations of a results file is not kept in memory.
const BESIDE_BYTES: usize = 256 << 20;

/// How a source is packed, told by its first bytes and never by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// A source that was looked at and can be imported.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path as given, `-` for standard input.
    pub(crate) given: String,
    pub(crate) format: Format,
    pub(crate) framing: Framing,
    pub(crate) hash: Key,
    pub(crate) source_bytes: u64,
    pub(crate) decoded_bytes: u64,
    pub(crate) header: Option<Header>,
    /// Environment that the name of the source suggests.
    pub(crate) guessed: Option<String>,
    path: PathBuf,
    packing: Packing,
    /// Standard input, put aside in a file that ends with the program.
    spool: Option<File>,
}

impl Source {
    /// Looks at a source: what it is, whether it is whole, and its hash.
    pub(crate) fn survey(
        path: &Path,
        forced: Option<Format>,
        spool_in: &Path,
    ) -> Result<Self, ImportError> {
        let given = path.display().to_string();
        let io = |source| ImportError::Io {
            path: given.clone(),
            source,
        };
        let spool = if given == "-" {
            Some(spool(&mut io::stdin().lock(), spool_in).map_err(io)?)
        } else if path.exists() && !path.is_file() {
            // A pipe can be read only once.
            let mut pipe = File::open(path).map_err(io)?;
            Some(spool(&mut pipe, spool_in).map_err(io)?)
        } else {
            None
        };
        let mut source = Self {
            guessed: guess_environment(path),
            given,
            format: Format::Native,
            framing: Framing::Lines,
            hash: Key::of(b""),
            source_bytes: 0,
            decoded_bytes: 0,
            header: None,
            path: path.to_owned(),
            packing: Packing::Plain,
            spool,
        };
        source.look(forced)?;
        Ok(source)
    }

    fn look(&mut self, forced: Option<Format>) -> Result<(), ImportError> {
        let given = self.given.clone();
        let io = |source| ImportError::Io {
            path: given.clone(),
            source,
        };
        let mut first = [0u8; 4];
        let read = read_full(&mut self.open()?, &mut first).map_err(io)?;
        if read == 0 {
            return Err(ImportError::Empty {
                path: self.given.clone(),
            });
        }
        self.packing = match first {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD] => Packing::Zstd,
            [b'P', b'K', 3, 4] => return Err(self.refuse("a ZIP archive")),
            [b'P', b'A', b'R', b'1'] => return Err(self.refuse("a Parquet file")),
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
                return Err(self.refuse("UTF-16 text (UTF-8 is needed)"));
            }
            _ => Packing::Plain,
        };
        let mut hashing = Hashing {
            inner: self.open()?,
            hasher: KeyHasher::default(),
            bytes: 0,
        };
        let survey = {
            let mut decoded = decode(&mut hashing, self.packing).map_err(io)?;
            let mut head = vec![0; HEAD_BYTES];
            let got = self.damage(read_full(&mut decoded, &mut head))?;
            head.truncate(got);
            let whole = got < HEAD_BYTES;
            if got == 0 {
                return Err(ImportError::Empty {
                    path: self.given.clone(),
                });
            }
            match detect(&text_head(&head), whole, forced) {
                Detected::Known(format, framing) => (self.format, self.framing) = (format, framing),
                Detected::Unknown(what) => return Err(self.refuse(&what)),
            }
            let mut survey = Survey::new(self.framing);
            survey.feed(&head);
            let mut block = vec![0; 1 << 20];
            loop {
                let got = self.damage(decoded.read(&mut block))?;
                if got == 0 {
                    break;
                }
                survey.feed(&block[..got]);
            }
            survey
        };
        // What follows the compressed data still belongs to the source's hash.
        io::copy(&mut hashing, &mut io::sink()).map_err(io)?;
        self.hash = hashing.hasher.finish();
        self.source_bytes = hashing.bytes;
        self.decoded_bytes = survey.bytes;
        if let Some(key) = survey.missing() {
            return Err(self.refuse(&format!("a JSON object without a list under {key:?}")));
        }
        if self.format == Format::Tau2 {
            self.header = Some(survey.header());
        }
        Ok(())
    }

    /// The decoded bytes from the start.
    pub(crate) fn decoded(&self) -> Result<Box<dyn Read + Send>, ImportError> {
        let given = self.given.clone();
        let packing = self.packing;
        decode_owned(self.open()?, packing).map_err(|source| ImportError::Io {
            path: given,
            source,
        })
    }

    fn open(&self) -> Result<BufReader<File>, ImportError> {
        let io = |source| ImportError::Io {
            path: self.given.clone(),
            source,
        };
        let file = match &self.spool {
            Some(file) => {
                let mut file = file.try_clone().map_err(io)?;
                file.seek(SeekFrom::Start(0)).map_err(io)?;
                file
            }
            None => File::open(&self.path).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => ImportError::Missing {
                    path: self.given.clone(),
                },
                _ => io(source),
            })?,
        };
        Ok(BufReader::with_capacity(1 << 20, file))
    }

    fn refuse(&self, what: &str) -> ImportError {
        ImportError::UnknownFormat {
            path: self.given.clone(),
            what: what.to_owned(),
        }
    }

    /// A fault while decompressing means a cut or damaged file, not a bad disk.
    fn damage<T>(&self, result: io::Result<T>) -> Result<T, ImportError> {
        result.map_err(|source| match self.packing {
            Packing::Plain => ImportError::Io {
                path: self.given.clone(),
                source,
            },
            packing => ImportError::Damaged {
                path: self.given.clone(),
                packing: if packing == Packing::Gzip {
                    "gzip"
                } else {
                    "zstd"
                },
                source,
            },
        })
    }
}

fn decode<'r>(reader: &'r mut Hashing, packing: Packing) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match packing {
        Packing::Plain => Box::new(reader),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
        Packing::Zstd => {
            let mut decoder = zstd::Decoder::new(reader)?;
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
    })
}

fn decode_owned(reader: BufReader<File>, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    Ok(match packing {
        Packing::Plain => Box::new(reader),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
        Packing::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(reader)?;
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
    })
}

fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// Puts a stream aside in a file without a name, since a source is read twice.
fn spool(stream: &mut dyn Read, folder: &Path) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("spool-{}", std::process::id()));
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    io::copy(stream, &mut file)?;
    file.flush()?;
    Ok(file)
}

struct Hashing {
    inner: BufReader<File>,
    hasher: KeyHasher,
    bytes: u64,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..got]);
        self.bytes += got as u64;
        Ok(got)
    }
}

/// What is learned while a source streams by the first time.
struct Survey {
    bytes: u64,
    splitter: Option<Splitter>,
    key: Option<&'static str>,
    beside: Vec<u8>,
}

impl Survey {
    fn new(framing: Framing) -> Self {
        let key = match framing {
            Framing::Under(key) => Some(key),
            _ => None,
        };
        Self {
            bytes: 0,
            splitter: key.map(|key| Splitter::new(Some(key))),
            key,
            beside: Vec::new(),
        }
    }

    fn feed(&mut self, block: &[u8]) {
        self.bytes += block.len() as u64;
        let beside = &mut self.beside;
        if let Some(splitter) = &mut self.splitter {
            splitter.feed(block, &mut |piece, bytes| {
                if piece == Piece::Beside && beside.len() + bytes.len() <= BESIDE_BYTES {
                    beside.extend_from_slice(bytes);
                }
            });
        }
    }

    fn missing(&self) -> Option<&'static str> {
        self.key
            .filter(|_| self.splitter.as_ref().is_some_and(|s| !s.found()))
    }

    /// A document that was cut off has no readable header; its simulations still count.
    fn header(&self) -> Header {
        let text = format!("{{{}", String::from_utf8_lossy(&self.beside));
        Doc::parse(&text)
            .map(|doc| Header::read(doc.root()))
            .unwrap_or_default()
    }
}

/// The beginning as text: without a byte order mark, without half a character at the end.
fn text_head(head: &[u8]) -> String {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    String::from_utf8_lossy(head).into_owned()
}

/// The benchmarks' files do not say their domain, but are named after it.
fn guess_environment(path: &Path) -> Option<String> {
    const DOMAINS: &[&str] = &["airline", "retail", "telecom", "mock"];
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(|word| DOMAINS.contains(word)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_suggests_a_domain_only_as_a_whole_word() {
        let guess = |name: &str| guess_environment(Path::new(name));
        assert_eq!(
            guess("x/tau_bench_gpt-4o-airline.json.zst").as_deref(),
            Some("airline")
        );
        assert_eq!(guess("airlines.json"), None);
        assert_eq!(guess("-"), None);
    }
}
