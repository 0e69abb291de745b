//! Which shards are done: a line per shard, written when its files are on the
//! disk. A command that was killed finds them there and goes on behind them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::item::Totals;
use super::shard::{Done, hash_file};
use crate::curate::error::{CurateError, CurateResult};

const NAME: &str = "shards.journal";
const PARTS: &str = "parts";

/// What the shards are made of. Other work starts anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::curate) struct Work {
    pub(in crate::curate) curation_id: String,
    pub(in crate::curate) fidelake: String,
    pub(in crate::curate) rows: usize,
}

/// A range of rows, written in every format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::curate) struct Shard {
    /// Its first row, and how many there are.
    pub(in crate::curate) first: usize,
    pub(in crate::curate) rows: usize,
    pub(in crate::curate) split: String,
    pub(in crate::curate) totals: Totals,
    /// In the order of the formats.
    pub(in crate::curate) files: Vec<Done>,
}

/// A format, the names of its files below the root, and the shards they hold.
pub(in crate::curate) type Named = (Format, Vec<String>, Vec<Shard>);

/// The journal of a workshop.
pub(in crate::curate) struct Journal {
    root: PathBuf,
    formats: Vec<Format>,
    file: File,
    pub(in crate::curate) shards: Vec<Shard>,
}

impl Journal {
    /// Opens it: finished shards whose files are whole are kept, all the rest in
    /// the folder is removed.
    pub(in crate::curate) fn open(
        root: &Path,
        work: &Work,
        formats: &[Format],
    ) -> CurateResult<Self> {
        let path = root.join(NAME);
        let mut shards = read(&path, work);
        take_names_back(root, &shards, formats, work.rows);
        let whole = shards.iter().enumerate().take_while(|(at, shard)| {
            let files = formats.iter().zip(&shard.files);
            shard.files.len() == formats.len()
                && files.clone().all(|(format, done)| {
                    hash_file(&part(root, *format, *at))
                        .is_ok_and(|found| found == (done.bytes, done.blake3.clone()))
                })
        });
        let whole = whole.count();
        shards.truncate(whole);
        clear(root, formats, whole).map_err(|e| CurateError::io(root, e))?;
        // Written anew and renamed: its last line may be half of one.
        let fresh = root.join("shards.journal.new");
        let file = write(&fresh, work, &shards).map_err(|e| CurateError::io(&fresh, e))?;
        fs::rename(&fresh, &path).map_err(|e| CurateError::io(&path, e))?;
        Ok(Self {
            root: root.to_owned(),
            formats: formats.to_vec(),
            file,
            shards,
        })
    }

    /// The first row that no shard has.
    pub(in crate::curate) fn next(&self) -> usize {
        self.shards
            .last()
            .map_or(0, |shard| shard.first + shard.rows)
    }

    /// Where a file stands until its name is known.
    pub(in crate::curate) fn part(&self, format: Format, at: usize) -> PathBuf {
        part(&self.root, format, at)
    }

    /// Notes a shard whose files are on the disk.
    pub(in crate::curate) fn push(&mut self, shard: Shard) -> CurateResult<()> {
        let path = self.root.join(NAME);
        line(&mut self.file, &shard)
            .and_then(|()| self.file.sync_data())
            .map_err(|e| CurateError::io(path, e))?;
        self.shards.push(shard);
        Ok(())
    }

    /// Gives every file its name, which says how many there are, and returns the
    /// names in the order of `formats` x shards.
    pub(in crate::curate) fn name(self) -> CurateResult<Vec<Named>> {
        let mut named = Vec::with_capacity(self.formats.len());
        for format in &self.formats {
            let names = names(&self.shards, *format, self.formats.len());
            for (at, name) in names.iter().enumerate() {
                let to = self.root.join(name);
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder).map_err(|e| CurateError::io(folder, e))?;
                }
                let from = self.part(*format, at);
                fs::rename(&from, &to).map_err(|e| CurateError::io(&from, e))?;
            }
            named.push((*format, names, self.shards.clone()));
        }
        Ok(named)
    }

    /// Removes what only a command that goes on needs.
    pub(in crate::curate) fn forget(root: &Path) -> CurateResult<()> {
        let (parts, path) = (root.join(PARTS), root.join(NAME));
        for (path, removed) in [
            (&parts, fs::remove_dir_all(&parts)),
            (&path, fs::remove_file(&path)),
        ] {
            match removed {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(CurateError::io(path, e));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// How many finished shards a journal names.
pub(in crate::curate) fn finished(root: &Path) -> usize {
    let text = fs::read_to_string(root.join(NAME)).unwrap_or_default();
    text.lines().count().saturating_sub(1)
}

/// Removes what is half written, so that the disk has room again.
pub(in crate::curate) fn drop_unfinished(root: &Path) {
    let done = finished(root);
    let Ok(entries) = fs::read_dir(root.join(PARTS)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let at = name
            .rsplit('-')
            .next()
            .and_then(|at| at.parse::<usize>().ok());
        if at.is_none_or(|at| at >= done) {
            // What stays is removed by the next command.
            let _ = fs::remove_file(path);
        }
    }
}

fn part(root: &Path, format: Format, at: usize) -> PathBuf {
    root.join(PARTS)
        .join(format!("{}-{at:05}.part", format.name()))
}

/// Names of the shards of a format, below the root.
fn names(shards: &[Shard], format: Format, formats: usize) -> Vec<String> {
    let folder = if formats > 1 {
        format!("{}/", format.name())
    } else {
        String::new()
    };
    let of = |split: &str| shards.iter().filter(|s| s.split == split).count();
    let name = |(at, shard): (usize, &Shard)| {
        let before = shards.iter().take(at).filter(|s| s.split == shard.split);
        let at = before.count();
        format!(
            "{folder}{}",
            format.path(&shard.split, at, of(&shard.split))
        )
    };
    shards.iter().enumerate().map(name).collect()
}

fn read(path: &Path, work: &Work) -> Vec<Shard> {
    let Ok(text) = fs::read_to_string(path) else {
        return Vec::new();
    };
    let mut lines = text.lines();
    let head = lines.next().map(serde_json::from_str::<Work>);
    if !matches!(head, Some(Ok(head)) if head == *work) {
        return Vec::new();
    }
    let mut shards: Vec<Shard> = Vec::new();
    for line in lines {
        let next = shards.last().map_or(0, |s| s.first + s.rows);
        match serde_json::from_str::<Shard>(line) {
            Ok(shard) if shard.first == next => shards.push(shard),
            _ => break,
        }
    }
    shards
}

/// A command that was killed while it named the files: they go back.
fn take_names_back(root: &Path, shards: &[Shard], formats: &[Format], rows: usize) {
    if shards.last().is_none_or(|s| s.first + s.rows != rows) {
        return;
    }
    for format in formats {
        for (at, name) in names(shards, *format, formats.len()).iter().enumerate() {
            let part = part(root, *format, at);
            if !part.exists() {
                // What fails here is written again.
                let _ = fs::rename(root.join(name), part);
            }
        }
    }
}

/// Removes everything but the journal and the parts of so many shards.
fn clear(root: &Path, formats: &[Format], shards: usize) -> std::io::Result<()> {
    let parts = root.join(PARTS);
    fs::create_dir_all(&parts)?;
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path == parts || path == root.join(NAME) {
            continue;
        }
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    let kept: std::collections::HashSet<PathBuf> = (0..shards)
        .flat_map(|at| formats.iter().map(move |format| (at, *format)))
        .map(|(at, format)| part(root, format, at))
        .collect();
    for entry in fs::read_dir(&parts)? {
        let path = entry?.path();
        if !kept.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn write(path: &Path, work: &Work, shards: &[Shard]) -> std::io::Result<File> {
    let mut file = File::create(path)?;
    line(&mut file, work)?;
    for shard in shards {
        line(&mut file, shard)?;
    }
    file.sync_all()?;
    Ok(file)
}

fn line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_string(value).map_err(std::io::Error::other)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}
