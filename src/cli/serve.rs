//! `fidelake serve`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::serve::{Access, Limits, PgError, PgServer, Tls};
use crate::web::asked_to_end;

/// Let others ask the lake: in SQL, by PostgreSQL's protocol.
///
/// psql, psycopg, JDBC, Grafana, Metabase and others connect as to a PostgreSQL server that can only be
/// read. All functions of `fidelake functions` are there. A connection reads the lake version that was
/// newest when it began; `SET fidelake.lake_version = 'newest'` (or a number, or a time) moves on.
/// Beyond this machine a password and TLS are required. See docs/sql-server.md.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen here for PostgreSQL's clients; port 0 takes a free one. The address is printed first
    #[arg(long, value_name = "ADDRESS", required = true)]
    pg: Option<SocketAddr>,
    /// Let in who is in this file: one name:password a line, readable by its owner only
    #[arg(long, value_name = "FILE", requires = "pg")]
    pg_passwords: Option<PathBuf>,
    /// The server's certificate and what signs it (PEM); then nobody is heard in plain text
    #[arg(long, value_name = "FILE", requires = "tls_key")]
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
    let Some(address) = args.pg else {
        anyhow::bail!(UsageError("give --pg ADDRESS".to_owned()));
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
    let open = access.is_none();
    let server =
        PgServer::bind(address, global.lake.clone(), access, tls, limits).map_err(usage)?;
    printer.data(&format!("postgresql://{}/lake", server.address()))?;
    if open {
        printer.say("everybody on this machine may read: --pg-passwords FILE asks for a password");
    }
    server.serve(asked_to_end()).await?;
    Ok(Status::Done)
}

fn limits(args: &ServeArgs) -> anyhow::Result<Limits> {
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
