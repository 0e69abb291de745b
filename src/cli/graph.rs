//! `fidelake graph`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::printer::Printer;
use super::whole::WholeFile;
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::randomize::{Context, Experience, GraphError, Part, next, write_graphml, write_parquet};

/// Use what was experienced: what led where, what worked, what mended a failure.
///
/// Nodes are APIs with an outcome and recorded states, edges are transitions with counts per
/// arm, how the runs ended and how faithful the simulator is there. docs/graph.md.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    command: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    /// Write the graph as GraphML or as Parquet
    Export(ExportArgs),
    /// Print a table of the graph: nodes, edges, states or fixes
    Show(ShowArgs),
    /// Say which continuation worked, for real, from here
    Next(NextArgs),
}

/// What the graph is made of.
#[derive(Debug, Args)]
struct FromArgs {
    /// One environment instead of all
    #[arg(long, short, value_name = "NAME")]
    environment: Option<String>,
    /// The arm on which failures and their repairs are looked for
    #[arg(long, value_enum, default_value_t)]
    arm: ArmArg,
    #[command(flatten)]
    at: AtArgs,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ArmArg {
    Sim,
    #[default]
    Real,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// A file NAME.graphml, or a new folder for Parquet files
    #[arg(long, short, value_name = "PATH")]
    out: PathBuf,
    /// GraphML takes no more states than so many, the most travelled ones
    #[arg(long, value_name = "N", default_value_t = 5000)]
    states: usize,
    #[command(flatten)]
    from: FromArgs,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Which table
    #[arg(value_enum)]
    table: Table,
    #[command(flatten)]
    from: FromArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Table {
    /// APIs with an outcome
    Nodes,
    /// Transitions between them
    Edges,
    /// Transitions between recorded states
    States,
    /// Failures and what mended them
    Fixes,
}

impl Table {
    const fn part(self) -> Part {
        match self {
            Self::Nodes => Part::Nodes,
            Self::Edges => Part::Edges,
            Self::States => Part::States,
            Self::Fixes => Part::Fixes,
        }
    }
}

#[derive(Debug, Args)]
struct NextArgs {
    /// A call made before, API or API:OUTCOME; several in their order, the last one at the end.
    /// None: at the beginning of a run
    #[arg(long, value_name = "API[:OUTCOME]")]
    after: Vec<String>,
    /// One environment instead of all
    #[arg(long, short, value_name = "NAME")]
    environment: Option<String>,
    /// Look at fewer calls before it where fewer real runs than so many went on
    #[arg(long, value_name = "N", default_value_t = 5)]
    enough: i64,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &GraphArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    match &args.command {
        GraphCommand::Export(args) => export(args, global, printer).await,
        GraphCommand::Show(args) => {
            let graph = open(&args.from, global).await?;
            printer.batch(&graph.part(args.table.part()).await?)?;
            Ok(Status::Done)
        }
        GraphCommand::Next(args) => go_on(args, global, printer).await,
    }
}

async fn open(from: &FromArgs, global: &Global) -> anyhow::Result<Experience> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &from.at.resolve()?).await?;
    let arm = match from.arm {
        ArmArg::Sim => "sim",
        ArmArg::Real => "real",
    };
    Ok(Experience::open(&engine, from.environment.as_deref(), arm).await?)
}

async fn export(args: &ExportArgs, global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    // Before the work, not behind it.
    if args.out.exists() {
        return Err(GraphError::Taken(args.out.clone()).into());
    }
    let graph = open(&args.from, global).await?.tables().await?;
    let as_graphml = args
        .out
        .extension()
        .is_some_and(|extension| extension == "graphml");
    if as_graphml {
        let mut out = WholeFile::create(&args.out)?;
        let left_out = write_graphml(&graph, args.states, &mut out)?;
        out.finish()?;
        if left_out > 0 {
            printer.say(&format!(
                "{left_out} transitions between states are left out: there are more than {} states (--states)",
                args.states
            ));
        }
    } else if args.out.extension().is_some() {
        return Err(UsageError(format!(
            "--out {}: write NAME.graphml for GraphML, or a folder without an extension for Parquet",
            args.out.display()
        ))
        .into());
    } else {
        write_parquet(&graph, &args.out)?;
    }
    let counts = Part::ALL.map(|part| format!("{} {}", graph.part(part).num_rows(), part.as_str()));
    printer.say(&format!("{} in {}", counts.join(", "), args.out.display()));
    Ok(Status::Done)
}

async fn go_on(args: &NextArgs, global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    let context = Context::parse(&args.after).map_err(|e| UsageError(e.to_string()))?;
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let found = next(&engine, args.environment.as_deref(), &context, args.enough).await?;
    printer.batch(&found.rows)?;
    let place = match (args.after.len(), found.depth) {
        (0, _) => "at the beginning of a run".to_owned(),
        (1, _) => "behind that call".to_owned(),
        (given, depth) if depth < given => {
            format!("behind the last {depth} of these calls (too few runs went on behind more)")
        }
        _ => "behind these calls".to_owned(),
    };
    printer.say(&if found.rows.num_rows() == 0 {
        format!("no recorded run went on {place}")
    } else {
        format!("{} real continuations {place}", found.real)
    });
    Ok(Status::Done)
}
