//! `fidelake monitor`

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use fidelake_core::monitor::DIMENSIONS;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::{At, Lake};
use crate::monitor::{
    Actions, Desk, MonitorError, Paused, Pool, Server, Settings, Shared, Tail, Token, check_webhook,
};
use crate::web::asked_to_end;

/// Read at once from standard input; what has come so far is taken in together.
const CHUNK: usize = 1 << 20;

/// A longer line is none.
const LONGEST_LINE: usize = 8 << 20;

/// Watch a running training, and say when it should pause.
///
/// A sample of the rollouts is also run for real. Send both answers of each call, or their gaps: as JSON
/// lines to POST /v1/observations or to standard input, or from the newest runs of a lake. A trainer asks
/// GET /v1/state before each step. See docs/monitor.md.
#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Listen here; port 0 takes a free one. The address is printed first
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Read observations as JSON lines from standard input; alarms are printed as JSON lines
    #[arg(long)]
    stdin: bool,
    /// Follow a lake: take what is newly profiled
    #[arg(long, value_name = "LAKE")]
    tail: Option<PathBuf>,
    /// Look so often whether the lake has something new
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        requires = "tail"
    )]
    every: f64,
    /// Least fidelity, for all dimensions or for one (`0.8`, `obs=0.9`); may be given again
    #[arg(long, value_name = "[DIMENSION=]X", default_value = "0.7")]
    threshold: Vec<String>,
    /// Where the state is kept. Default: in the lake of --tail, else of --lake
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Command for the shell when a stream pauses; the alarm is in its environment and on its standard input
    #[arg(long, value_name = "COMMAND")]
    on_pause: Option<String>,
    /// Address to post alarms to
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// The command and the webhook have so long
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    action_timeout: f64,
    /// File with the token that requests must carry which change something. Default: made beside the state
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Real calls that may be spent in all: /v1/next asks for no more
    #[arg(long, value_name = "CALLS")]
    budget: Option<f64>,
    /// An observation older than the newest of its source by more than this is not charted
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    late: f64,
    /// Set limits for so many streams, whatever there are
    #[arg(long, value_name = "N")]
    streams: Option<usize>,
    /// Refuse observations that would make more streams than this
    #[arg(long, value_name = "N", default_value_t = 5000)]
    max_streams: usize,
}

pub(crate) async fn run(
    args: &MonitorArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let actions = actions(args)?;
    let settings = settings(args, &actions)?;
    let state = state_file(args, &global.lake)?;
    let token = match args.http {
        Some(_) => Some(token(args, &state, printer)?),
        None => None,
    };
    let desk = Desk::open(&state, settings).map_err(usage)?;
    let (alarms, pauses) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::new(desk, alarms));
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        asked_to_end().await;
        let _ = stop.send(true);
    });

    let mut tail = match &args.tail {
        Some(lake) => Some(Tail::open(lake, &shared)?),
        None => None,
    };
    if args.http.is_some() && args.tail.is_none() && Lake::open(&global.lake).is_ok() {
        let lake = Lake::open(&global.lake)?;
        let engine = Engine::open(&lake, &At::Newest).await?;
        shared.set_pool(Pool::read(&engine).await?);
    }

    let doing = tokio::spawn(act(actions, Arc::clone(&shared), pauses));
    let mut served = None;
    if let (Some(address), Some(token)) = (args.http, token) {
        let server = Server::bind(address, token, Arc::clone(&shared))?;
        printer.data(&format!("http://{}", server.address()))?;
        if !address.ip().is_loopback() {
            printer.error("listening beyond this machine, without encryption: every request needs the token; put a proxy with TLS before it");
        }
        let mut stopped = stopped.clone();
        served = Some(tokio::spawn(server.serve(async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        })));
    }
    let word = shared.desk().word();
    printer.say(&format!("state {}: {word}", state.display()));

    if let Some(tail) = &mut tail {
        follow(tail, args, &shared, stopped.clone(), printer).await?;
    }
    if args.stdin {
        read_lines(&shared, stopped.clone(), printer).await?;
    }
    if let Some(served) = served {
        served.await??;
    }
    // What alarms asked for is done before the end, if it is at hand.
    let word = shared.desk().word();
    if args.on_pause.is_some() || args.webhook.is_some() {
        settle(&doing, &shared, stopped).await?;
    }
    doing.abort();
    Ok(if word == "pause" {
        Status::Gate
    } else {
        Status::Done
    })
}

fn usage(error: MonitorError) -> anyhow::Error {
    match error {
        MonitorError::Usage(why) => UsageError(why).into(),
        other => other.into(),
    }
}

fn wrong(why: String) -> anyhow::Error {
    UsageError(why).into()
}

fn actions(args: &MonitorArgs) -> anyhow::Result<Actions> {
    if let Some(url) = &args.webhook {
        check_webhook(url).map_err(usage)?;
    }
    Ok(Actions {
        command: args.on_pause.clone(),
        webhook: args.webhook.clone(),
        patience: seconds(args.action_timeout, "--action-timeout")?,
    })
}

fn seconds(value: f64, name: &str) -> anyhow::Result<Duration> {
    let found = Duration::try_from_secs_f64(value).ok();
    found
        .filter(|time| !time.is_zero() && value < 1e7)
        .ok_or_else(|| wrong(format!("{name} {value}: a number of seconds above 0")))
}

fn settings(args: &MonitorArgs, actions: &Actions) -> anyhow::Result<Settings> {
    if args.http.is_none() && !args.stdin && args.tail.is_none() {
        return Err(wrong(
            "nothing to watch: give --http ADDRESS, --stdin or --tail LAKE".into(),
        ));
    }
    if args
        .budget
        .is_some_and(|budget| budget.is_nan() || budget < 0.0)
    {
        return Err(wrong("--budget is a number of calls, 0 or more".into()));
    }
    if args.streams == Some(0) || args.max_streams == 0 {
        return Err(wrong("--streams and --max-streams are 1 or more".into()));
    }
    seconds(args.every, "--every")?;
    seconds(args.late, "--late")?;
    Ok(Settings {
        threshold: thresholds(&args.threshold)?,
        streams: args.streams,
        most_streams: args.max_streams,
        late: args.late,
        budget: args.budget,
        actions: actions.names(),
    })
}

/// `0.8` for all, `obs=0.9` for one; the one for all comes first, wherever it stands.
fn thresholds(given: &[String]) -> anyhow::Result<[f64; 4]> {
    let mut found = [0.7; 4];
    let number = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|x| (0.0..=1.0).contains(x)).ok_or_else(|| {
            wrong(format!(
                "--threshold {text}: a fidelity from 0 to 1, such as 0.8 or obs=0.9"
            ))
        })
    };
    for text in given.iter().filter(|text| !text.contains('=')) {
        found = [number(text)?; 4];
    }
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            continue;
        };
        let at = DIMENSIONS.iter().position(|known| *known == name.trim());
        let at = at.ok_or_else(|| {
            wrong(format!(
                "--threshold {text}: the dimensions are {}",
                DIMENSIONS.join(", ")
            ))
        })?;
        found[at] = number(value)?;
    }
    Ok(found)
}

fn state_file(args: &MonitorArgs, lake: &Path) -> anyhow::Result<PathBuf> {
    if let Some(state) = &args.state {
        return Ok(state.clone());
    }
    let lake = args.tail.as_deref().unwrap_or(lake);
    if Lake::open(lake).is_err() {
        return Err(wrong(format!(
            "there is no lake at {} to keep the state in: give --state FILE, or --lake DIR",
            lake.display()
        )));
    }
    Ok(lake.join("_fidelake").join("monitor.sqlite"))
}

fn token(args: &MonitorArgs, state: &Path, printer: &Printer) -> anyhow::Result<Token> {
    if let Some(path) = &args.token_file {
        return Token::read(path, false).map_err(usage);
    }
    let mut path = state.as_os_str().to_owned();
    path.push(".token");
    let path = PathBuf::from(path);
    let token = Token::read(&path, true).map_err(usage)?;
    printer.say(&format!(
        "requests that change something carry the token in {}",
        path.display()
    ));
    Ok(token)
}

async fn act(
    actions: Actions,
    shared: Arc<Shared>,
    pauses: mpsc::UnboundedReceiver<Paused>,
) -> Result<(), MonitorError> {
    let say = |line: &str| {
        let line = crate::report::safe_lines(line);
        let _ = writeln!(std::io::stderr(), "{line}");
    };
    actions.run(shared, pauses, say).await
}

/// Waits for actions that are under way, unless somebody wants the end now.
async fn settle(
    doing: &tokio::task::JoinHandle<Result<(), MonitorError>>,
    shared: &Shared,
    stopped: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    const LOOK: Duration = Duration::from_millis(50);

    while shared.is_busy()? && !doing.is_finished() && !*stopped.borrow() {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Takes what the lake has, and what comes to it, until stopped; without a server and without
/// standard input as well.
async fn follow(
    tail: &mut Tail,
    args: &MonitorArgs,
    shared: &Arc<Shared>,
    mut stopped: watch::Receiver<bool>,
    printer: &Printer,
) -> anyhow::Result<()> {
    loop {
        match tail.poll(shared).await {
            Ok(Some(receipt)) => {
                for paused in &receipt.paused {
                    printer.data(&paused.detail.to_string())?;
                }
                let counts = &receipt.counts;
                printer.say(&format!(
                    "from the lake: {} observations, {} known already, {} not understood",
                    counts.accepted, counts.duplicates, counts.rejected
                ));
            }
            Ok(None) => {}
            // It is perhaps being written, moved or mended: what is here goes on.
            Err(MonitorError::Lake(error)) => printer.error(&format!("{error}; looking again")),
            Err(MonitorError::Engine(error)) => printer.error(&format!("{error}; looking again")),
            Err(other) => return Err(other.into()),
        }
        if args.stdin {
            return Ok(());
        }
        let wait = Duration::from_secs_f64(args.every);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stopped.wait_for(|stop| *stop) => return Ok(()),
        }
    }
}

/// Takes standard input in as it comes, to its end.
async fn read_lines(
    shared: &Arc<Shared>,
    mut stopped: watch::Receiver<bool>,
    printer: &Printer,
) -> anyhow::Result<()> {
    let (send, mut coming) = mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    // A read cannot be broken off; the thread ends with the process.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut rest: Vec<u8> = Vec::new();
        loop {
            let before = rest.len();
            rest.resize(before + CHUNK, 0);
            let read = match input.read(&mut rest[before..]) {
                Ok(read) => read,
                Err(error) => {
                    let _ = send.blocking_send(Err(error));
                    return;
                }
            };
            rest.truncate(before + read);
            let whole = match rest.iter().rposition(|byte| *byte == b'\n') {
                _ if read == 0 || rest.len() > LONGEST_LINE => rest.len(),
                Some(at) => at + 1,
                None => continue,
            };
            let after = rest.split_off(whole);
            let lines = std::mem::replace(&mut rest, after);
            if (!lines.is_empty() && send.blocking_send(Ok(lines)).is_err()) || read == 0 {
                return;
            }
        }
    });
    let (mut lines, mut totals) = (0, crate::monitor::Totals::default());
    loop {
        let next = tokio::select! {
            next = coming.recv() => next,
            _ = stopped.wait_for(|stop| *stop) => None,
        };
        let Some(chunk) = next else { break };
        let chunk = chunk?;
        let count = chunk.iter().filter(|byte| **byte == b'\n').count();
        let taking = Arc::clone(shared);
        let taken = tokio::task::spawn_blocking(move || taking.take(&chunk)).await?;
        let (receipt, _) = taken?;
        for paused in &receipt.paused {
            let mut detail = paused.detail.clone();
            detail["line"] = json!(lines + paused.line);
            printer.data(&detail.to_string())?;
        }
        for refused in &receipt.refused {
            printer.error(&format!("line {}: {}", lines + refused.line, refused.why));
        }
        lines += count;
        totals.merge(&receipt.counts);
    }
    printer.say(&format!(
        "{} observations, {} known already, {} late, {} not understood; the state is {}",
        totals.accepted,
        totals.duplicates,
        totals.late,
        totals.rejected,
        shared.desk().word()
    ));
    Ok(())
}
