//! The shell of `fidelake sql`: statements up to a `;`, and a few commands.

mod complete;

use std::path::PathBuf;
use std::time::Instant;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use super::printer::Printer;
use super::{Status, functions, sql};
use crate::engine::Engine;
use crate::lake::schema;
use crate::report::{safe, statements};
use complete::{SqlHelper, Vocabulary};

const HELP: &str = "\
SELECT ... ;    a query ends with ; and may have several lines
\\d              the tables and views
\\d TABLE        the columns of one
\\f [NAME]       our functions, or one of them
\\q              end (so does Ctrl-D)
\\?              this
Tab completes names; Ctrl-C clears the line, or stops a running query.";

const HISTORY_ENTRIES: usize = 10_000;

pub(super) async fn run(engine: &Engine, printer: &Printer) -> anyhow::Result<Status> {
    let config = Config::builder()
        .max_history_size(HISTORY_ENTRIES)?
        .auto_add_history(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<SqlHelper, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(SqlHelper::new(vocabulary(engine).await?)));
    let history = history_file();
    if let Some(path) = &history {
        // None yet, or one of another program: the shell works without.
        let _ = editor.load_history(path);
    }
    printer.say(&format!(
        "lake version {}; end statements with ;  \\? for help, \\q to quit",
        engine.version().version
    ));
    loop {
        let line = match editor.readline("fidelake> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        if let Some(command) = line.trim().strip_prefix('\\') {
            if matches!(command.trim(), "q" | "quit") {
                break;
            }
            if let Err(error) = meta(command.trim(), engine, printer).await {
                printer.error(&format!("{error:#}"));
            }
            continue;
        }
        for text in statements(&line).all() {
            if !statement(&text, engine, printer).await {
                break;
            }
        }
    }
    if let Some(path) = history {
        save(&mut editor, &path, printer);
    }
    Ok(Status::Done)
}

/// Runs one statement; whether it ended well.
async fn statement(text: &str, engine: &Engine, printer: &Printer) -> bool {
    let started = Instant::now();
    let ran = tokio::select! {
        ran = sql::print(engine, text, printer) => ran,
        _ = tokio::signal::ctrl_c() => {
            printer.say("stopped");
            return false;
        }
    };
    match ran {
        Ok(rows) => {
            let word = if rows == 1 { "row" } else { "rows" };
            printer.say(&format!(
                "{rows} {word} in {:.2} s",
                started.elapsed().as_secs_f64()
            ));
            true
        }
        Err(error) => {
            printer.error(&format!("{error:#}"));
            false
        }
    }
}

/// A command that begins with a backslash.
async fn meta(command: &str, engine: &Engine, printer: &Printer) -> anyhow::Result<()> {
    let (name, argument) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    match (name, argument.trim()) {
        ("?" | "h" | "help", _) => printer.data(HELP)?,
        ("d", "") => {
            sql::print(
                engine,
                "SELECT table_name AS \"table\", CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS kind \
                 FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
                printer,
            )
            .await?;
        }
        ("d", table) => describe(table, engine, printer).await?,
        ("f", "") => printer.data(&pages(""))?,
        ("f", function) => {
            let found = pages(function);
            if found.is_empty() {
                anyhow::bail!("there is no function {function:?} of ours; \\f lists them");
            }
            printer.data(&found)?;
        }
        _ => anyhow::bail!("there is no command \\{}; \\? lists them", safe(command)),
    }
    Ok(())
}

fn pages(name: &str) -> String {
    let mut all = crate::engine::functions::all();
    all.retain(|f| name.is_empty() || f.doc().name == name);
    all.sort_by_key(|f| f.doc().name);
    functions::pages(&all)
}

/// The columns of a table or view, with what they mean where a schema file says so.
async fn describe(table: &str, engine: &Engine, printer: &Printer) -> anyhow::Result<()> {
    let name = table.trim_end_matches(';').trim_matches('"');
    let quoted = name.replace('\'', "''");
    let sql = format!(
        "SELECT column_name AS \"column\", data_type AS type, is_nullable AS \"null\" \
         FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '{quoted}' \
         ORDER BY ordinal_position"
    );
    let (schema, batches) = engine.query(&sql).await?;
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        anyhow::bail!("there is no table {name:?}; \\d lists them");
    }
    printer.batches(&schema, &batches)?;
    if let Some(table) = schema::table(name) {
        printer.say(&format!(
            "{}; `fidelake schema {name}` says what each column means",
            table.doc
        ));
    }
    Ok(())
}

/// All names that can be completed.
async fn vocabulary(engine: &Engine) -> anyhow::Result<Vocabulary> {
    let mut vocabulary = Vocabulary::default();
    let sql = "SELECT table_name, column_name FROM information_schema.columns \
               WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";
    for batch in engine.query(sql).await?.1 {
        for (table, column) in texts(&batch, 0)?.into_iter().zip(texts(&batch, 1)?) {
            vocabulary.column(table, column);
        }
    }
    let sql = "SELECT DISTINCT routine_name FROM information_schema.routines";
    for batch in engine.query(sql).await?.1 {
        texts(&batch, 0)?
            .into_iter()
            .for_each(|name| vocabulary.function(name));
    }
    for function in crate::engine::functions::all() {
        vocabulary.function(function.doc().name.to_owned());
    }
    Ok(vocabulary)
}

fn texts(batch: &RecordBatch, column: usize) -> anyhow::Result<Vec<String>> {
    let column = arrow::compute::cast(batch.column(column), &arrow::datatypes::DataType::Utf8)?;
    let column = column.as_string::<i32>();
    Ok((0..column.len())
        .map(|row| column.value(row).to_owned())
        .collect())
}

/// `$XDG_STATE_HOME/fidelake/history`, or the same in `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let state =
        set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("fidelake").join("history"))
}

fn save(editor: &mut Editor<SqlHelper, FileHistory>, path: &std::path::Path, printer: &Printer) {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = made
        .map_err(ReadlineError::from)
        .and_then(|()| editor.save_history(path))
    {
        printer.say(&format!(
            "the history was not kept: {}: {error}",
            path.display()
        ));
    }
}
