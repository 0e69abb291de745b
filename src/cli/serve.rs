//! `fidelake serve`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::monitor::{MonitorError, Token};
use crate::serve::{PageError, Pages};
use crate::web::asked_to_end;

/// Serve the lake to a browser.
///
/// Pages that need no scripts and load nothing from elsewhere: overview, heat map, calls, both
/// arms side by side, patterns, budget, monitor, and the SQL behind every figure. They follow the
/// lake as it grows, and change nothing. See docs/pages.md.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve pages here; port 0 takes a free one. The address is printed first
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// File with the token that requests must carry, as a password or as a bearer. Needed beyond this machine
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The state of the monitor to show. Default: the one in the lake
    #[arg(long, value_name = "FILE")]
    monitor_state: Option<PathBuf>,
}

pub(crate) async fn run(
    args: &ServeArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let Some(address) = args.http else {
        let why = "nothing to serve: give --http ADDRESS, such as --http 127.0.0.1:8080";
        return Err(UsageError(why.into()).into());
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
    printer.data(&format!("http://{}", pages.address()))?;
    if !address.ip().is_loopback() {
        printer.error("listening beyond this machine, without encryption: every request needs the token; put a proxy with TLS before it");
    }
    pages.serve(asked_to_end()).await;
    Ok(Status::Done)
}
