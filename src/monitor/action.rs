//! What is done when a stream pauses: a command, a webhook. Once per alarm.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::mpsc;

use super::desk::Paused;
use super::error::{MonitorError, MonitorResult};
use super::http::Shared;

/// Output that is kept of an action, in characters.
const KEPT: usize = 4000;

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// For the shell.
    pub command: Option<String>,
    /// Where an alarm is posted to.
    pub webhook: Option<String>,
    /// Each has so long.
    pub patience: Duration,
}

impl Actions {
    /// Names of what is to be done.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let command = self.command.as_ref().map(|_| "command");
        let webhook = self.webhook.as_ref().map(|_| "webhook");
        command.into_iter().chain(webhook).collect()
    }

    /// Does what alarms ask for, first those that an earlier monitor left. `say` gets what came out.
    ///
    /// An action is noted before it begins: one that was cut off by a kill is not made again.
    ///
    /// # Errors
    /// If the state cannot be read or written.
    pub async fn run(
        self,
        shared: Arc<Shared>,
        mut pauses: mpsc::UnboundedReceiver<Paused>,
        say: impl Fn(&str),
    ) -> MonitorResult<()> {
        let left = shared.desk().store.open_actions()?;
        for (seq, kind, detail) in left {
            let kind = self.names().into_iter().find(|known| *known == kind);
            if let Some(kind) = kind {
                self.act(&shared, seq, kind, &detail, &say).await?;
            }
        }
        while let Some(paused) = pauses.recv().await {
            let detail = paused.detail.to_string();
            for kind in self.names() {
                self.act(&shared, paused.seq, kind, &detail, &say).await?;
            }
        }
        Ok(())
    }

    async fn act(
        &self,
        shared: &Shared,
        seq: i64,
        kind: &'static str,
        detail: &str,
        say: &impl Fn(&str),
    ) -> MonitorResult<()> {
        if !shared.desk().store.begin_action(seq, kind)? {
            return Ok(());
        }
        let work = async {
            match (kind, &self.command, &self.webhook) {
                ("command", Some(command), _) => run(command, detail).await,
                (_, _, Some(url)) => post(url, detail).await,
                _ => Ok(String::new()),
            }
        };
        let (status, output) = match tokio::time::timeout(self.patience, work).await {
            Ok(Ok(output)) => ("done", output),
            Ok(Err(why)) => ("failed", why),
            Err(_) => (
                "failed",
                format!("stopped after {} s", self.patience.as_secs_f64()),
            ),
        };
        let output: String = output.trim().chars().take(KEPT).collect();
        shared.desk().store.action(seq, kind, status, &output)?;
        say(&format!(
            "{kind} for alarm {seq}: {status}{}",
            shown(&output)
        ));
        Ok(())
    }
}

fn shown(output: &str) -> String {
    match output.lines().next() {
        Some(first) => format!(": {first}"),
        None => String::new(),
    }
}

/// The alarm stands in the environment and, as JSON, on standard input.
async fn run(command: &str, detail: &str) -> Result<String, String> {
    let mut process = Command::new("sh");
    process
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Ok(Value::Object(map)) = serde_json::from_str(detail) {
        for (name, value) in map {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            // A NUL cannot stand in an environment.
            let name = format!("FIDELAKE_{}", name.to_ascii_uppercase());
            process.env(name, text.replace('\0', ""));
        }
    }
    let mut child = process.spawn().map_err(|error| error.to_string())?;
    let _group = Group(child.id());
    if let Some(mut stdin) = child.stdin.take() {
        // It need not read it.
        let _ = stdin.write_all(detail.as_bytes()).await;
    }
    let output = child
        .wait_with_output()
        .await
        .map_err(|error| error.to_string())?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{}: {text}", output.status))
    }
}

/// What the command started ends with it, when it has taken too long.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.and_then(|pid| i32::try_from(pid).ok()) {
            let group = nix::unistd::Pid::from_raw(pid);
            // Mostly nothing of it is left.
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

async fn post(url: &str, detail: &str) -> Result<String, String> {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .body(detail.to_owned())
        .send()
        .await
        .map_err(|error| error.without_url().to_string())?;
    let status = sent.status();
    if status.is_success() {
        Ok(status.to_string())
    } else {
        Err(format!("answered {status}"))
    }
}

/// Checks the address of a webhook.
///
/// # Errors
/// If it is no http or https address.
pub fn check_webhook(text: &str) -> MonitorResult<()> {
    let url = url::Url::parse(text).ok();
    let is_http = url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    is_http.then_some(()).ok_or_else(|| {
        MonitorError::Usage(format!("--webhook {text}: not an http or https address"))
    })
}
