//! Where observations are taken in: one after the other, each batch one transaction.

use std::path::Path;

use chrono::DateTime;
use fidelake_core::monitor::{
    DIMENSIONS, Malformed, Observation, PairReader, Regions, Stream, Taken, When,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::MonitorResult;
use super::store::Store;
use super::totals::Totals;

/// Rejected lines that a receipt names; the others are counted.
const NAMED: usize = 20;

/// How a monitor judges.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Least fidelity by dimension: obs, act, rew, trans.
    pub threshold: [f64; 4],
    /// Streams that limits are for; `None`: as many as there are.
    pub streams: Option<usize>,
    /// Streams that may be.
    pub most_streams: usize,
    /// An observation older than the newest of its source by more than this is late, in seconds.
    pub late: f64,
    /// Real calls that may be spent; `None`: any number.
    pub budget: Option<f64>,
    /// What is done when a stream pauses: `command`, `webhook`.
    pub actions: Vec<&'static str>,
}

/// A line that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its number in what was sent, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

/// An alarm that was raised.
#[derive(Clone, Debug, PartialEq)]
pub struct Paused {
    /// Its number.
    pub seq: i64,
    /// The line that raised it.
    pub line: usize,
    /// What it is, as JSON.
    pub detail: Value,
}

/// What became of some lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipt {
    /// Counts.
    pub counts: Totals,
    /// The first lines that were refused.
    pub refused: Vec<Refused>,
    /// Alarms.
    pub paused: Vec<Paused>,
}

/// Which streams something is done to; what is not named is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The environment.
    pub environment: Option<String>,
    /// The tool.
    pub api: Option<String>,
    /// The outcome on sim.
    pub outcome: Option<String>,
    /// obs, act, rew, trans.
    pub dimension: Option<String>,
}

/// The monitor without its doors.
#[derive(Debug)]
pub struct Desk {
    pub(super) settings: Settings,
    pub(super) regions: Regions,
    pub(super) totals: Totals,
    pub(super) store: Store,
    pairs: PairReader,
}

fn empty(settings: &Settings) -> Regions {
    Regions::new(
        settings.threshold,
        settings.streams,
        settings.most_streams,
        (settings.late * 1e6) as i64,
    )
}

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    chrono::Utc::now().timestamp_micros()
}

impl Desk {
    /// Opens a state and goes on where it ended.
    ///
    /// # Errors
    /// If it is in use, is none of ours, or cannot be read.
    pub fn open(path: &Path, settings: Settings) -> MonitorResult<Self> {
        let store = Store::open(path)?;
        let mut regions = empty(&settings);
        let totals = store.load(&mut regions)?;
        Ok(Self {
            settings,
            regions,
            totals,
            store,
            pairs: PairReader::default(),
        })
    }

    /// Takes lines in. When it returns, what was accepted is durable.
    ///
    /// # Errors
    /// If the state cannot be written; then nothing of them was taken.
    pub fn take(&mut self, body: &[u8]) -> MonitorResult<Receipt> {
        let taken = self.try_take(body, now());
        self.keep_or_reload(taken)
    }

    /// After a failure memory must not be ahead of the database.
    fn keep_or_reload<T>(&mut self, done: MonitorResult<T>) -> MonitorResult<T> {
        if done.is_err() {
            let mut regions = empty(&self.settings);
            self.totals = self.store.load(&mut regions)?;
            self.regions = regions;
        }
        done
    }

    fn try_take(&mut self, body: &[u8], now: i64) -> MonitorResult<Receipt> {
        let mut receipt = Receipt::default();
        let writing = self.store.begin()?;
        for (at, line) in body.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let refused = match read(line, &mut self.pairs) {
                Err(why) => Some(why),
                Ok(seen) if !writing.is_new(seen.0.key)? => {
                    receipt.counts.duplicates += 1;
                    None
                }
                Ok((seen, when)) => match self.regions.take(&seen, when, now) {
                    Taken::Charted(alarms) => {
                        receipt.counts.accepted += 1;
                        receipt.counts.calls += seen.cost;
                        for place in alarms {
                            let Some((region, dimension, stream)) = self.regions.stream(place)
                            else {
                                continue;
                            };
                            let name = DIMENSIONS[dimension];
                            let detail = super::view::paused(region, name, stream);
                            let text = detail.to_string();
                            let seq = writing.event(now, "pause", &text, &self.settings.actions)?;
                            receipt.paused.push(Paused {
                                seq,
                                line: at + 1,
                                detail,
                            });
                        }
                        None
                    }
                    Taken::Late => {
                        receipt.counts.late += 1;
                        None
                    }
                    Taken::TooMany => {
                        writing.forget(seen.key)?;
                        Some(format!(
                            "there are {} streams already (--max-streams): name regions by fewer values",
                            self.settings.most_streams
                        ))
                    }
                },
            };
            if let Some(why) = refused {
                receipt.counts.rejected += 1;
                writing.reject(now, &String::from_utf8_lossy(line), &why)?;
                if receipt.refused.len() < NAMED {
                    receipt.refused.push(Refused { line: at + 1, why });
                }
            }
        }
        let mut totals = self.totals;
        totals.merge(&receipt.counts);
        writing.turn_over(self.totals.accepted, totals.accepted)?;
        writing.commit(&mut self.regions, &totals)?;
        self.totals = totals;
        Ok(receipt)
    }

    /// Acknowledges the alarms of the chosen streams; how many there were.
    ///
    /// # Errors
    /// If the state cannot be written; then nothing was acknowledged.
    pub fn acknowledge(&mut self, chosen: &Chosen) -> MonitorResult<usize> {
        self.change("acknowledge", chosen, Stream::acknowledge)
    }

    /// Forgets the baselines of the chosen streams: a new warm-up begins. How many there were.
    ///
    /// # Errors
    /// If the state cannot be written; then nothing was forgotten.
    pub fn recalibrate(&mut self, chosen: &Chosen) -> MonitorResult<usize> {
        self.change("recalibrate", chosen, |stream| {
            stream.recalibrate();
            true
        })
    }

    fn change(
        &mut self,
        kind: &str,
        chosen: &Chosen,
        change: impl Fn(&mut Stream) -> bool,
    ) -> MonitorResult<usize> {
        let fits = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let detail = json!({
            "environment": chosen.environment, "api": chosen.api,
            "outcome": chosen.outcome, "dimension": chosen.dimension,
        });
        let made = || {
            let writing = self.store.begin()?;
            let changed = self.regions.change(
                |region, dimension| {
                    fits(&chosen.environment, &region.environment)
                        && fits(&chosen.api, &region.api)
                        && fits(&chosen.outcome, &region.outcome)
                        && fits(&chosen.dimension, dimension)
                },
                change,
            );
            writing.event(now(), kind, &detail.to_string(), &[])?;
            writing.commit(&mut self.regions, &self.totals)?;
            Ok(changed)
        };
        let done = made();
        self.keep_or_reload(done)
    }
}

/// A line and the time that it says.
fn read(line: &[u8], pairs: &mut PairReader) -> Result<(Observation, Option<i64>), String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    let seen = Observation::read(text, pairs).map_err(|why: Malformed| why.to_string())?;
    let when = match &seen.when {
        When::Unknown => None,
        When::Micros(micros) => Some(*micros),
        When::Text(text) => match DateTime::parse_from_rfc3339(text.trim()) {
            Ok(time) => Some(time.timestamp_micros()),
            Err(_) => {
                let shown: String = text.chars().take(40).collect();
                return Err(format!(
                    "time is {shown:?}; it must be seconds since 1970, or a time with its zone such as 2026-07-31T12:00:00Z"
                ));
            }
        },
    };
    Ok((seen, when))
}
