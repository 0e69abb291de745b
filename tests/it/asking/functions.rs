use std::path::Path;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use fidelake::engine::{bare_context, functions};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};

use super::{SAMPLE, assert_said};

/// The rows as texts.
fn texts(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = vec![];
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
            .collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|c| c.value(row).to_string()).collect()),
        );
    }
    rows
}

async fn answer(context: &SessionContext, sql: &str) -> Result<String, DataFusionError> {
    let batches = context.sql(sql).await?.collect().await?;
    let rows: Vec<String> = texts(&batches).iter().map(|row| row.join("|")).collect();
    Ok(rows.join("\n"))
}

#[tokio::test]
async fn every_example_gives_what_it_says() {
    let context = bare_context();
    let mut wrong = vec![];
    for function in functions::all() {
        let doc = function.doc();
        match answer(&context, doc.example).await {
            Ok(found) if found == doc.gives => {}
            found => wrong.push(format!("{}: {found:?}, not {:?}", doc.name, doc.gives)),
        }
        assert!(doc.signature.starts_with(&format!("{}(", doc.name)));
        assert!(doc.signature.contains(" -> "), "{}", doc.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_are_described() {
    assert_said!("functions_one", SAMPLE.ask(&["functions", "json_gap"]));
    assert_said!("functions_unknown", SAMPLE.ask(&["functions", "json_gab"]));
    let all = SAMPLE.rows(&["functions"]);
    assert_eq!(all.len(), functions::all().len());
}

struct Bare(SessionContext, tokio::runtime::Runtime);

impl DB for Bare {
    type Error = DataFusionError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Self::ColumnType>, Self::Error> {
        let frame = self.1.block_on(self.0.sql(sql))?;
        let width = frame.schema().fields().len();
        let rows = texts(&self.1.block_on(frame.collect())?);
        Ok(DBOutput::Rows {
            types: vec![DefaultColumnType::Any; width],
            rows,
        })
    }
}

#[test]
fn logic_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let mut runner = Runner::new(|| async {
            Ok(Bare(
                bare_context(),
                tokio::runtime::Runtime::new().unwrap(),
            ))
        });
        runner.with_column_validator(|_, _| true);
        if let Err(error) = runner.run_file(&file) {
            panic!("{}: {error}", file.display());
        }
    }
}
