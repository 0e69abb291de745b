//! Is a folder what its manifest says, and is that what the lake says?

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::decide::{Question, decide};
use super::error::{CurateError, CurateResult};
use super::fill;
use super::ledger::Ledger;
use super::manifest_files::{Beside, ShardFile};
use super::place::Workshop;
use super::read::{quoted, stream, texts};
use super::recipe::Recipe;
use super::rule_figures::HoldoutFigures;
use super::write::hash_file;
use crate::engine::Engine;
use crate::import::Progress;
use crate::lake::{At, Lake};

/// The parts of a manifest that tell one curation from another.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Known {
    pub(super) curation_id: String,
    pub(super) fidelake: String,
    pub(super) lake_version: i64,
    pub(super) recipe: String,
    #[serde(default)]
    pub(super) holdouts: Vec<HoldoutFigures>,
    pub(super) files: Vec<ShardFile>,
    pub(super) beside: Vec<Beside>,
}

impl Known {
    pub(super) fn read(manifest: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(manifest)
    }

    /// Every file but the manifest.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, u64, &str)> {
        let shards = self.files.iter();
        let shards = shards.map(|f| (f.path.as_str(), f.bytes, f.blake3.as_str()));
        let beside = self.beside.iter();
        shards.chain(beside.map(|f| (f.path.as_str(), f.bytes, f.blake3.as_str())))
    }
}

/// How the folder differs from its manifest, a line each.
pub(super) fn differences(folder: &Path, known: &Known) -> Vec<String> {
    let mut found = Vec::new();
    for (path, bytes, blake3) in known.all() {
        let inside = Path::new(path)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            found.push(format!(
                "{path}: the manifest names a file outside the folder"
            ));
            continue;
        }
        match hash_file(&folder.join(path)) {
            Err(CurateError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                found.push(format!("{path}: missing"));
            }
            Err(error) => found.push(format!("{path}: {error}")),
            Ok((size, _)) if size != bytes => {
                found.push(format!("{path}: {size} bytes, the manifest says {bytes}"));
            }
            Ok((_, hash)) if hash != blake3 => {
                found.push(format!("{path}: other bytes than the manifest says"));
            }
            Ok(_) => {}
        }
    }
    let own = |path: &Path| {
        path == Path::new("manifest.json") || known.all().any(|f| path == Path::new(f.0))
    };
    others(folder, Path::new(""), &own, &mut found);
    found
}

/// Files that the manifest does not name.
fn others(folder: &Path, below: &Path, own: &dyn Fn(&Path) -> bool, found: &mut Vec<String>) {
    let entries = match fs::read_dir(folder.join(below)) {
        Ok(entries) => entries,
        Err(error) => {
            found.push(format!("{}: {error}", below.display()));
            return;
        }
    };
    let mut paths: Vec<(PathBuf, bool)> = entries
        .flatten()
        .map(|entry| {
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (below.join(entry.file_name()), folder)
        })
        .collect();
    paths.sort();
    for (path, is_folder) in paths {
        if is_folder {
            others(folder, &path, own, found);
        } else if !own(&path) {
            found.push(format!("{}: not in the manifest", path.display()));
        }
    }
}

/// What a check of a folder found.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The curation that the manifest names.
    pub curation_id: String,
    /// The state of the lake that it read.
    pub lake_version: i64,
    /// Files whose hashes were compared.
    pub files: usize,
    /// Rows of all parts of the data set, as the shards of its first format say.
    pub rows: u64,
    /// Whether everything was made again and compared.
    pub made_again: bool,
    /// What differs, a line each. Nothing: the folder is what the lake says.
    pub differences: Vec<String>,
}

/// Checks a folder against its manifest and against the lake: hashes of all
/// files, the name that recipe and lake version give the curation, and the
/// manifest that the lake recorded. `again`: everything is made again, too.
///
/// # Errors
/// If the folder has no manifest, the lake cannot be read, or the curation
/// cannot be made again.
pub async fn verify(
    lake: &Path,
    folder: &Path,
    again: bool,
    progress: &dyn Progress,
) -> CurateResult<Verified> {
    let (known, text) = manifest(folder)?;
    let mut found = differences(folder, &known);
    found.extend(against_recipe(&known));
    let lake = Lake::open(lake)?;
    found.extend(against_lake(&lake, &known, &text).await?);
    if again {
        found.extend(against_another(&lake, folder, &known, &text, progress).await?);
    }
    let first = known.files.first().map(|f| f.format.clone());
    let rows = known
        .files
        .iter()
        .filter(|f| Some(&f.format) == first.as_ref());
    Ok(Verified {
        rows: rows.map(|f| f.rows).sum(),
        files: known.all().count(),
        curation_id: known.curation_id,
        lake_version: known.lake_version,
        made_again: again,
        differences: found,
    })
}

/// Makes the curation again beside the folder and compares the manifests, which
/// hold a hash of every file.
async fn against_another(
    lake: &Lake,
    folder: &Path,
    known: &Known,
    text: &str,
    progress: &dyn Progress,
) -> CurateResult<Vec<String>> {
    let path = Path::new("manifest.json, recipe");
    // Hold-out files are looked for in the current folder: the lake does not keep them.
    let at = At::Version(known.lake_version);
    let question = Question::of(lake.path(), path, &known.recipe, &at)?;
    let engine = Engine::open(lake, &at).await?;
    let decided = decide(&engine, &question, &mut Ledger::default()).await?;
    let shop = Workshop::open(folder, &known.curation_id)?;
    let made = fill(&shop, &engine, &question, &decided, progress).await;
    shop.remove();
    let made = made?;
    if made == text {
        return Ok(Vec::new());
    }
    let again = Known::read(&made).map_err(|error| CurateError::Run(error.to_string()))?;
    let new: HashMap<&str, (u64, &str)> = again.all().map(|f| (f.0, (f.1, f.2))).collect();
    let mut found: Vec<String> = known
        .all()
        .filter(|f| new.get(f.0) != Some(&(f.1, f.2)))
        .map(|f| format!("{}: made again it has other bytes", f.0))
        .collect();
    if new.len() != known.all().count() {
        found.push(format!("made again there are {} files", new.len()));
    }
    if found.is_empty() {
        found.push("manifest.json: made again it says otherwise".into());
    }
    Ok(found)
}

/// The manifest of a folder, read and as text.
pub(super) fn manifest(folder: &Path) -> CurateResult<(Known, String)> {
    let path = folder.join("manifest.json");
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(CurateError::NoCuration {
                path: folder.to_owned(),
                message: "there is no manifest.json: `fidelake curate RECIPE.toml --out DIR` makes such a folder".into(),
            });
        }
        read => read.map_err(|e| CurateError::io(&path, e))?,
    };
    let known = Known::read(&text).map_err(|error| CurateError::NoCuration {
        path,
        message: format!("this is no manifest of a curation: {error}"),
    })?;
    Ok((known, text))
}

/// The name of a curation is that of its recipe and lake version.
fn against_recipe(known: &Known) -> Option<String> {
    let recipe = match Recipe::parse(Path::new("manifest.json, recipe"), &known.recipe) {
        Ok(recipe) => recipe,
        Err(error) => return Some(format!("the recipe cannot be read: {error}")),
    };
    let inputs: Vec<&str> = known.holdouts.iter().map(|h| h.blake3.as_str()).collect();
    (recipe.curation_id(known.lake_version, &inputs) != known.curation_id).then(|| {
        format!(
            "manifest.json: curation {} is not that of its recipe at lake version {} (made by fidelake {}; this is {})",
            known.curation_id,
            known.lake_version,
            known.fidelake,
            env!("CARGO_PKG_VERSION")
        )
    })
}

/// What the lake recorded of the curation.
async fn against_lake(lake: &Lake, known: &Known, text: &str) -> CurateResult<Option<String>> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let id = quoted(&known.curation_id);
    let sql = format!("SELECT manifest FROM curations WHERE curation_id = {id}");
    let mut batches = stream(&engine, &sql).await?;
    let Some(batch) = batches.next().await? else {
        return Ok(Some(format!(
            "the lake knows no curation {}: this is another lake, or the folder was published before it was recorded",
            known.curation_id
        )));
    };
    let recorded = texts(&batch, "manifest")?;
    Ok((recorded.value(0) != text)
        .then(|| "manifest.json: the lake recorded another one for this curation".to_owned()))
}
