//! What a monitor knows, as JSON and as metrics.

use std::fmt::Write as _;

use chrono::{DateTime, SecondsFormat};
use fidelake_core::monitor::{Region, State, Stream};
use serde_json::{Map, Value, json};

use super::desk::{Desk, Receipt};
use super::error::MonitorResult;

/// Streams that `/v1/state` names of each kind; `/v1/streams` has all.
const NAMED: usize = 50;

/// Figures of four places: enough to read, and the same on every machine.
fn rounded(x: f64) -> Value {
    json!((x * 1e4).round() / 1e4)
}

pub(super) fn time(micros: i64) -> Value {
    let found = DateTime::from_timestamp_micros(micros);
    found.map_or(Value::Null, |time| {
        Value::from(time.to_rfc3339_opts(SecondsFormat::Millis, true))
    })
}

fn named(region: &Region, dimension: &str, stream: &Stream) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("environment".into(), region.environment.as_str().into());
    map.insert("api".into(), region.api.as_str().into());
    map.insert("outcome".into(), region.outcome.as_str().into());
    map.insert("dimension".into(), dimension.into());
    let fidelity = stream.fidelity().map_or(Value::Null, rounded);
    map.insert("fidelity".into(), fidelity);
    map
}

/// An alarm.
pub(super) fn paused(region: &Region, dimension: &str, stream: &Stream) -> Value {
    let mut map = named(region, dimension, stream);
    if let Some(latch) = stream.latch() {
        map.insert("cause".into(), latch.cause.name().into());
        map.insert("since".into(), time(latch.at));
    }
    let usual = stream
        .baseline()
        .map_or(Value::Null, |b| rounded(1.0 - b.mean));
    map.insert("usual".into(), usual);
    map.insert("threshold".into(), rounded(stream.threshold()));
    Value::Object(map)
}

fn whole(region: &Region, dimension: &str, stream: &Stream, rate: f64) -> Value {
    let mut map = named(region, dimension, stream);
    map.insert("state".into(), stream.state().name().into());
    map.insert("samples".into(), stream.count().into());
    map.insert("alarms".into(), stream.alarms().into());
    map.insert("threshold".into(), rounded(stream.threshold()));
    if let Some((low, high)) = stream.interval() {
        map.insert("low".into(), rounded(low));
        map.insert("high".into(), rounded(high));
    }
    if let Some(baseline) = stream.baseline() {
        map.insert("usual".into(), rounded(1.0 - baseline.mean));
        map.insert("phi".into(), rounded(baseline.phi));
    }
    if let Some((cause, part)) = stream.nearness(rate) {
        map.insert("nearest".into(), cause.name().into());
        map.insert("nearness".into(), rounded(part));
    }
    if let Some(latch) = stream.latch() {
        map.insert("cause".into(), latch.cause.name().into());
        map.insert("since".into(), time(latch.at));
    }
    if let Some(why) = stream.unsteady() {
        map.insert("why".into(), why.to_string().into());
    }
    Value::Object(map)
}

const STATES: [State; 4] = [State::Ok, State::Warn, State::Pause, State::Unknown];

impl Desk {
    /// The state of all together: what a trainer asks for before each step.
    #[must_use]
    pub fn state(&self) -> Value {
        let count = |state: State| {
            let all = self.regions.streams();
            all.filter(|(_, _, stream)| stream.state() == state).count()
        };
        let list = |state: State| -> Vec<Value> {
            let all = self.regions.streams();
            let chosen = all.filter(|(_, _, stream)| stream.state() == state);
            chosen
                .take(NAMED)
                .map(|(r, d, s)| paused(r, d, s))
                .collect()
        };
        let mut counts = Map::new();
        for state in STATES {
            counts.insert(state.name().into(), count(state).into());
        }
        json!({
            "state": self.regions.state().name(),
            "streams": counts,
            "accepted": self.totals.accepted,
            "paused": list(State::Pause),
            "warned": list(State::Warn),
        })
    }

    /// The word for the state of all together.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.regions.state().name()
    }

    /// Every stream.
    #[must_use]
    pub fn streams(&self) -> Value {
        let rate = self.regions.rate();
        let all = self.regions.streams();
        let all: Vec<Value> = all.map(|(r, d, s)| whole(r, d, s, rate)).collect();
        json!({ "streams": all })
    }

    /// What to answer to who sent lines.
    #[must_use]
    pub fn answer(&self, receipt: &Receipt) -> Value {
        let counts = &receipt.counts;
        let paused: Vec<&Value> = receipt.paused.iter().map(|paused| &paused.detail).collect();
        json!({
            "accepted": counts.accepted, "duplicates": counts.duplicates, "late": counts.late,
            "rejected": counts.rejected, "refused": receipt.refused, "paused": paused,
            "state": self.word(),
        })
    }

    /// Metrics in the text format of Prometheus.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn metrics(&self) -> MonitorResult<String> {
        let mut out = String::new();
        let t = &self.totals;
        head(
            &mut out,
            "observations_total",
            "counter",
            "Observations by what became of them",
        );
        for (name, count) in [
            ("accepted", t.accepted),
            ("duplicate", t.duplicates),
            ("late", t.late),
            ("rejected", t.rejected),
        ] {
            let _ = writeln!(
                out,
                "fidelake_monitor_observations_total{{result=\"{name}\"}} {count}"
            );
        }
        head(
            &mut out,
            "real_calls_total",
            "counter",
            "Real calls that the accepted observations took",
        );
        let _ = writeln!(out, "fidelake_monitor_real_calls_total {}", t.calls);
        head(
            &mut out,
            "actions_total",
            "counter",
            "Commands and webhooks by how they ended",
        );
        for (status, count) in self.store.action_counts()? {
            let _ = writeln!(
                out,
                "fidelake_monitor_actions_total{{status=\"{status}\"}} {count}"
            );
        }
        head(&mut out, "paused", "gauge", "1 if training should pause");
        let is_paused = u8::from(self.regions.state() == State::Pause);
        let _ = writeln!(out, "fidelake_monitor_paused {is_paused}");
        head(&mut out, "streams", "gauge", "Streams by state");
        for state in STATES {
            let all = self.regions.streams();
            let count = all.filter(|(_, _, stream)| stream.state() == state).count();
            let _ = writeln!(
                out,
                "fidelake_monitor_streams{{state=\"{}\"}} {count}",
                state.name()
            );
        }
        let rate = self.regions.rate();
        type Figure = fn(&Stream, f64) -> Option<f64>;
        let figures: [(&str, &str, &str, Figure); 5] = [
            ("fidelity", "gauge", "Fidelity of late, 0 to 1", |s, _| {
                s.fidelity()
            }),
            (
                "nearness",
                "gauge",
                "How near the nearest chart is to an alarm; 1 is there",
                |s, rate| s.nearness(rate).map(|(_, part)| part),
            ),
            (
                "stream_paused",
                "gauge",
                "1 if an alarm is latched",
                |s, _| Some(f64::from(u8::from(s.latch().is_some()))),
            ),
            (
                "samples",
                "gauge",
                "Samples since the last calibration",
                |s, _| Some(s.count() as f64),
            ),
            ("alarms_total", "counter", "Alarms ever raised", |s, _| {
                Some(s.alarms() as f64)
            }),
        ];
        for (name, kind, help, figure) in figures {
            head(&mut out, name, kind, help);
            for (region, dimension, stream) in self.regions.streams() {
                let Some(value) = figure(stream, rate) else {
                    continue;
                };
                let _ = writeln!(
                    out,
                    "fidelake_monitor_{name}{{environment=\"{}\",api=\"{}\",outcome=\"{}\",dimension=\"{dimension}\"}} {value}",
                    label(&region.environment),
                    label(&region.api),
                    label(&region.outcome),
                );
            }
        }
        Ok(out)
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(
        out,
        "# HELP fidelake_monitor_{name} {help}\n# TYPE fidelake_monitor_{name} {kind}"
    );
}

/// A label's value as the format wants it.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(label("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
    }

    #[test]
    fn times_and_figures() {
        assert_eq!(time(1_500_000), "1970-01-01T00:00:01.500Z");
        assert_eq!(rounded(0.123_456), 0.1235);
    }
}
