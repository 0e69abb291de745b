//! `fidelake patterns`

use clap::{Args, Subcommand};

use super::mine::usage;
use super::printer::Printer;
use super::{AtArgs, Global, Status};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::patterns::{Change, Changed, Detail, detail, diff, list};
use crate::report::OutputFormat;

/// List the patterns of the newest run of `fidelake mine`, or show one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PatternsArgs {
    /// Show this pattern with its rule (the beginning of an id is enough)
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    at: AtArgs,
    #[command(subcommand)]
    command: Option<PatternsCommand>,
}

#[derive(Debug, Subcommand)]
enum PatternsCommand {
    /// Say which patterns came, went, grew and shrank between two lake versions
    Diff {
        /// The earlier lake version
        #[arg(value_name = "V1")]
        then: i64,
        /// The later lake version
        #[arg(value_name = "V2")]
        now: i64,
    },
}

pub(crate) async fn run(
    args: &PatternsArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    if let Some(PatternsCommand::Diff { then, now }) = args.command {
        let rows = diff(&lake, then, now).await.map_err(usage)?;
        printer.batch(&Changed::batch(&rows)?)?;
        let count = |change: Change| rows.iter().filter(|row| row.change == change).count();
        printer.say(&format!(
            "{} came, {} went, {} grew, {} shrank, {} stayed",
            count(Change::Came),
            count(Change::Went),
            count(Change::Grew),
            count(Change::Shrank),
            count(Change::Stayed)
        ));
        return Ok(Status::Done);
    }
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let Some(id) = &args.id else {
        let listed = list(&engine).await.map_err(usage)?;
        printer.batches(&listed.schema, &listed.batches)?;
        if listed.unconfirmed > 0 {
            printer.say(&format!(
                "{} of {} are unconfirmed: nothing tells them from noise",
                listed.unconfirmed,
                listed.len()
            ));
        }
        return Ok(Status::Done);
    };
    let found = detail(&engine, id).await.map_err(usage)?;
    match printer.format() {
        OutputFormat::Table => printer.data(&card(&found))?,
        _ => printer.data(&serde_json::to_string(&found)?)?,
    }
    Ok(Status::Done)
}

fn card(found: &Detail) -> String {
    let share = |x: Option<f64>| x.map_or("unknown".to_owned(), |x| format!("{x:.3}"));
    let evidence = match (found.test.as_str(), found.p_value) {
        ("excess", Some(p)) => format!("more than the arms' own noise, p = {p:.2e}"),
        ("mirror", Some(p)) => {
            format!("more frequent than the same with the arms changed over, p = {p:.2e}")
        }
        _ => "not tested: nothing was repeated, or too few trajectories".to_owned(),
    };
    let mut lines = vec![
        format!("{}  {}", found.pattern_id, found.name),
        String::new(),
        format!("family       {}", found.family),
        format!("environment  {}", found.environment),
        format!("tools        {}", found.apis),
        format!("status       {} ({evidence})", found.status),
        format!(
            "size         {} calls in {} trajectories",
            found.calls, found.trajectories
        ),
        format!(
            "gap          {:.3} a call, {:.1} % of the whole gap",
            found.gap,
            100.0 * found.share_gap
        ),
        format!(
            "cause        {:.0} % of their own, {:.0} % follow from earlier ones, {:.0} % flaky",
            100.0 * found.root_share,
            100.0 * found.state_share,
            100.0 * found.flaky_share
        ),
        format!(
            "rule held    precision {}, recall {} on {} calls that were not used for mining",
            share(found.precision),
            share(found.recall),
            found.held_out
        ),
        format!("mined on     lake version {}", found.generation),
        String::new(),
        format!("SELECT * FROM pattern_features WHERE {}", found.rule),
        String::new(),
        "examples".to_owned(),
    ];
    lines.extend(
        found
            .examples
            .split(' ')
            .map(|example| format!("  {example}")),
    );
    lines.join("\n")
}
