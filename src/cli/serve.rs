//! `fidelake serve`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;

use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::monitor::{MonitorError, Token};
use crate::serve::{Access, Limits, PageError, Pages, PgError, PgServer, Tls};
use crate::web::asked_to_end;

/// Let others look at the lake in a browser, and ask it in SQL.
///
/// --http: pages that need no scripts and load nothing from elsewhere: overview, heat map, calls, both
/// arms side by side, patterns, budget, monitor, and the SQL behind every figure. They follow the
/// lake as it grows, and change nothing. See docs/pages.md.
///
/// --pg: psql, psycopg, JDBC, Grafana, Metabase and others connect as to a PostgreSQL server that can only
/// be read. All functions of `fidelake functions` are there. A connection reads the lake version that was
/// newest when it began; `SET fidelake.lake_version = 'newest'` (or a number, or a time) moves on.
/// See docs/sql-server.md.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pages: PagesArgs,
    #[command(flatten)]
    pg: PgArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Pages")]
struct PagesArgs {
    /// Serve pages here; port 0 takes a free one. The address is printed first
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// File with the token that requests must carry, as a password or as a bearer. Needed beyond this machine
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// The state of the monitor to show. Default: the one in the lake
    #[arg(long, value_name = "FILE", requires = "http")]
    monitor_state: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "SQL")]
struct PgArgs {
    /// Listen here for PostgreSQL's clients; port 0 takes a free one. The address is printed
    #[arg(long, value_name = "ADDRESS")]
    pg: Option<SocketAddr>,
    /// Let in who is in this file: one name:password a line, readable by its owner only. Needed beyond this machine
    #[arg(long, value_name = "FILE", requires = "pg")]
    pg_passwords: Option<PathBuf>,
    /// The server's certificate and what signs it (PEM); then nobody is heard in plain text. Needed beyond this machine
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "pg"])]
    tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A statement may take so long, with reading its rows; clients can set less (statement_timeout)
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
    /// Memory of one query before it writes to disk, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    query_memory: usize,
    /// Queries that run at once; others wait. Default: twice the cores
    #[arg(long, value_name = "N")]
    queries: Option<usize>,
    /// Connections at once; others are turned away
    #[arg(long, value_name = "N", default_value_t = 100)]
    connections: usize,
    /// Refuse a join without an equality that would look at more pairs of rows than this
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pairs: u64,
}

pub(crate) async fn run(
    args: &ServeArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if args.pages.http.is_none() && args.pg.pg.is_none() {
        let why = "nothing to serve: give --http ADDRESS, such as --http 127.0.0.1:8080, or --pg ADDRESS, such as --pg 127.0.0.1:5433";
        return Err(UsageError(why.into()).into());
    }
    // Both before anything is printed: whoever reads an address may take both for there.
    let pages = open_pages(&args.pages, global).await?;
    let sql = open_sql(&args.pg, global)?;
    if let Some(pages) = &pages {
        printer.data(&format!("http://{}", pages.address()))?;
        if !pages.address().ip().is_loopback() {
            printer.error("listening beyond this machine, without encryption: every request needs the token; put a proxy with TLS before it");
        }
    }
    if let Some(sql) = &sql {
        printer.data(&format!("postgresql://{}/lake", sql.address()))?;
        if args.pg.pg_passwords.is_none() {
            printer
                .say("everybody on this machine may read: --pg-passwords FILE asks for a password");
        }
    }
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        asked_to_end().await;
        let _ = stop.send(true);
    });
    let ended = || {
        let mut stopped = stopped.clone();
        async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        }
    };
    tokio::try_join!(
        async {
            if let Some(pages) = pages {
                pages.serve(ended()).await;
            }
            Ok::<_, anyhow::Error>(())
        },
        async {
            if let Some(sql) = sql {
                sql.serve(ended()).await?;
            }
            Ok(())
        },
    )?;
    Ok(Status::Done)
}

async fn open_pages(args: &PagesArgs, global: &Global) -> anyhow::Result<Option<Pages>> {
    let Some(address) = args.http else {
        return Ok(None);
    };
    let token = match &args.token_file {
        None => None,
        Some(path) => Some(Token::read(path, false).map_err(|error| match error {
            MonitorError::Usage(why) => UsageError(why).into(),
            other => anyhow::Error::from(other),
        })?),
    };
    let pages = Pages::bind(address, &global.lake, args.monitor_state.clone(), token).await;
    let pages = pages.map_err(|error| match error {
        PageError::Wrong(why) => UsageError(why).into(),
        other => anyhow::Error::from(other),
    })?;
    Ok(Some(pages))
}

fn open_sql(args: &PgArgs, global: &Global) -> anyhow::Result<Option<PgServer>> {
    let Some(address) = args.pg else {
        return Ok(None);
    };
    let limits = limits(args)?;
    let access = match &args.pg_passwords {
        Some(file) => Some(Access::read(file).map_err(usage)?),
        None => None,
    };
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::read(certificate, key).map_err(usage)?),
        _ => None,
    };
    let server =
        PgServer::bind(address, global.lake.clone(), access, tls, limits).map_err(usage)?;
    Ok(Some(server))
}

fn limits(args: &PgArgs) -> anyhow::Result<Limits> {
    let wrong = |text: &str| UsageError(text.to_owned());
    if !(args.timeout > 0.0 && args.timeout <= 86_400.0) {
        anyhow::bail!(wrong("--timeout: more than 0 and at most 86400 seconds"));
    }
    if args.query_memory == 0 || args.queries == Some(0) || args.connections == 0 {
        anyhow::bail!(wrong(
            "--query-memory, --queries and --connections are 1 or more"
        ));
    }
    let usual = Limits::default();
    Ok(Limits {
        timeout: Duration::from_secs_f64(args.timeout),
        memory: args.query_memory.saturating_mul(1 << 20),
        pairs: args.pairs,
        queries: args.queries.unwrap_or(usual.queries),
        connections: args.connections,
        ..usual
    })
}

/// Wrong use is told apart by its exit code.
fn usage(error: PgError) -> anyhow::Error {
    match error {
        PgError::Usage(text) => UsageError(text).into(),
        other => other.into(),
    }
}
