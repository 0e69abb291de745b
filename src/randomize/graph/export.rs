//! The graph as Parquet: one file per table.

use std::fs::File;
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{GraphError, Part, Tables};

/// Writes `nodes.parquet`, `edges.parquet`, `states.parquet` and `fixes.parquet` into a new
/// folder, which appears when all of them are whole.
///
/// # Errors
/// If the folder is there already, or a file cannot be written.
pub fn write_parquet(graph: &Tables, folder: &Path) -> Result<(), GraphError> {
    if folder.exists() {
        return Err(GraphError::Taken(folder.to_owned()));
    }
    let name = folder
        .file_name()
        .ok_or_else(|| GraphError::Taken(folder.to_owned()))?;
    let partial = folder.with_file_name(format!("{}.partial", name.to_string_lossy()));
    // What a broken-off export left there is nobody's.
    let _ = std::fs::remove_dir_all(&partial);
    std::fs::create_dir_all(&partial).map_err(GraphError::io(&partial))?;
    for part in Part::ALL {
        let path = partial.join(format!("{}.parquet", part.as_str()));
        write(graph, part, &path)?;
    }
    std::fs::rename(&partial, folder).map_err(GraphError::io(folder))
}

fn write(graph: &Tables, part: Part, path: &Path) -> Result<(), GraphError> {
    let rows = graph.part(part);
    let file = File::create(path).map_err(GraphError::io(path))?;
    let fail = |source| GraphError::Parquet {
        path: path.to_owned(),
        source,
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).map_err(fail)?;
    writer.write(rows).map_err(fail)?;
    let file = writer.into_inner().map_err(fail)?;
    file.sync_all().map_err(GraphError::io(path))
}
