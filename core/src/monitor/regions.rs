//! All streams of a monitor: one per region and dimension.

use std::collections::{BTreeSet, HashMap};

use super::DIMENSIONS;
use super::observation::Observation;
use super::stream::{State, Stream, rate};

/// A clock that is ahead of ours by more than this is set back to ours.
const AHEAD: i64 = 5 * 60 * 1_000_000;

/// Clocks that are remembered; those of more sources are not compared.
const MOST_SOURCES: usize = 10_000;

/// The calls that are charted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// The environment.
    pub environment: String,
    /// The tool.
    pub api: String,
    /// How the call ended in sim.
    pub outcome: String,
}

/// What became of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in the charts. The streams (places in [`Regions::streams`]) that raised an alarm with it.
    Charted(Vec<usize>),
    /// Older than the newest of its source by more than is allowed: it says nothing of now.
    Late,
    /// It would make more streams than are allowed.
    TooMany,
}

/// The streams, and what decides which observations go into them.
#[derive(Clone, Debug)]
pub struct Regions {
    threshold: [f64; 4],
    /// Streams that limits are for; `None`: as many as there are.
    fixed: Option<usize>,
    most: usize,
    late: i64,
    names: Vec<(Region, usize)>,
    streams: Vec<Stream>,
    places: HashMap<String, [Option<usize>; 4]>,
    sources: HashMap<String, i64>,
    touched: BTreeSet<usize>,
    moved: BTreeSet<String>,
    text: String,
}

impl Regions {
    /// None so far. `threshold`: least fidelity by dimension; `fixed`: how many streams limits are
    /// for, if not as many as there are; `most`: streams that may be; `late`: microseconds.
    #[must_use]
    pub fn new(threshold: [f64; 4], fixed: Option<usize>, most: usize, late: i64) -> Self {
        Self {
            threshold,
            fixed,
            most,
            late,
            names: Vec::new(),
            streams: Vec::new(),
            places: HashMap::new(),
            sources: HashMap::new(),
            touched: BTreeSet::new(),
            moved: BTreeSet::new(),
            text: String::new(),
        }
    }

    /// Puts back a stream that was stored; the places must come in the order in which they were given.
    pub fn restore(&mut self, region: Region, dimension: usize, mut stream: Stream) {
        stream.set_threshold(self.threshold[dimension]);
        self.name(&region.environment, &region.api, &region.outcome);
        self.place(dimension, &region);
        if let Some(last) = self.streams.last_mut() {
            *last = stream;
        }
        self.touched.clear();
    }

    /// Puts back the newest time of a source, in microseconds.
    pub fn restore_source(&mut self, source: String, newest: i64) {
        self.sources.insert(source, newest);
    }

    /// Takes an observation made at `when` that came at `now` (microseconds).
    pub fn take(&mut self, seen: &Observation, when: Option<i64>, now: i64) -> Taken {
        if let Some(when) = when
            && !self.in_time(&seen.source, when, now)
        {
            return Taken::Late;
        }
        self.name(&seen.environment, &seen.api, &seen.outcome);
        let known = self.places.get(&self.text).copied().unwrap_or_default();
        let new = (0..4).filter(|at| seen.gaps[*at].is_some() && known[*at].is_none());
        if self.streams.len() + new.count() > self.most {
            return Taken::TooMany;
        }
        let mut alarms = Vec::new();
        for (dimension, gap) in seen.gaps.into_iter().enumerate() {
            let Some(gap) = gap else {
                continue;
            };
            let at = match known[dimension] {
                Some(at) => at,
                None => self.place(
                    dimension,
                    &Region {
                        environment: seen.environment.clone(),
                        api: seen.api.clone(),
                        outcome: seen.outcome.clone(),
                    },
                ),
            };
            let rate = self.rate();
            if self.streams[at].add(gap, seen.step, rate, now) {
                alarms.push(at);
            }
            self.touched.insert(at);
        }
        Taken::Charted(alarms)
    }

    /// Whether a time is not too far behind the newest of the same clock. A clock is compared with
    /// itself only, so that one which is wrong, but steadily, does no harm.
    fn in_time(&mut self, source: &str, when: i64, now: i64) -> bool {
        let when = if when > now.saturating_add(AHEAD) {
            now
        } else {
            when
        };
        match self.sources.get_mut(source) {
            Some(newest) if when < newest.saturating_sub(self.late) => false,
            Some(newest) => {
                if when > *newest {
                    *newest = when;
                    self.moved.insert(source.to_owned());
                }
                true
            }
            None => {
                if self.sources.len() < MOST_SOURCES {
                    self.sources.insert(source.to_owned(), when);
                    self.moved.insert(source.to_owned());
                }
                true
            }
        }
    }

    fn name(&mut self, environment: &str, api: &str, outcome: &str) {
        self.text.clear();
        for part in [environment, api, outcome] {
            self.text.push_str(part);
            self.text.push('\u{1f}');
        }
    }

    /// A new stream of the region that was named last.
    fn place(&mut self, dimension: usize, region: &Region) -> usize {
        let at = self.streams.len();
        self.streams.push(Stream::new(self.threshold[dimension]));
        self.names.push((region.clone(), dimension));
        self.places.entry(self.text.clone()).or_default()[dimension] = Some(at);
        at
    }

    /// What one stream may raise.
    #[must_use]
    pub fn rate(&self) -> f64 {
        rate(self.fixed.unwrap_or(self.streams.len()))
    }

    /// All streams, in the order in which they came.
    pub fn streams(&self) -> impl Iterator<Item = (&Region, &'static str, &Stream)> {
        let all = self.names.iter().zip(&self.streams);
        all.map(|((region, dimension), stream)| (region, DIMENSIONS[*dimension], stream))
    }

    /// The stream at a place.
    #[must_use]
    pub fn stream(&self, at: usize) -> Option<(&Region, usize, &Stream)> {
        let (region, dimension) = self.names.get(at)?;
        Some((region, *dimension, &self.streams[at]))
    }

    /// Changes the streams of which `chosen` says so; how many `change` says it changed.
    pub fn change(
        &mut self,
        chosen: impl Fn(&Region, &str) -> bool,
        change: impl Fn(&mut Stream) -> bool,
    ) -> usize {
        let mut changed = 0;
        for (at, (region, dimension)) in self.names.iter().enumerate() {
            if chosen(region, DIMENSIONS[*dimension]) && change(&mut self.streams[at]) {
                self.touched.insert(at);
                changed += 1;
            }
        }
        changed
    }

    /// Streams and sources that changed since the last time this was asked.
    pub fn changed(&mut self) -> (Vec<usize>, Vec<(String, i64)>) {
        let sources = std::mem::take(&mut self.moved).into_iter();
        let sources = sources
            .filter_map(|name| {
                let newest = *self.sources.get(&name)?;
                Some((name, newest))
            })
            .collect();
        let streams = std::mem::take(&mut self.touched).into_iter().collect();
        (streams, sources)
    }

    /// The state of all together: the worst that is known, and unknown only if nothing is.
    #[must_use]
    pub fn state(&self) -> State {
        let known = self.streams.iter().map(Stream::state);
        known
            .filter(|state| *state != State::Unknown)
            .max()
            .unwrap_or(State::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::key::Key;
    use crate::monitor::{Gaps, When};

    const MINUTE: i64 = 60_000_000;

    fn seen(api: &str, source: &str, gaps: Gaps) -> Observation {
        Observation {
            key: Key::of(b""),
            environment: "e".into(),
            api: api.into(),
            outcome: "ok".into(),
            source: source.into(),
            when: When::Unknown,
            step: None,
            cost: 1.0,
            gaps,
        }
    }

    fn regions() -> Regions {
        Regions::new([0.7; 4], None, 4, 10 * MINUTE)
    }

    #[test]
    fn a_clock_is_compared_with_itself_only() {
        let mut all = regions();
        let one = seen("a", "x", [Some(0.1), None, None, None]);
        let now = 1_000 * MINUTE;
        assert_eq!(all.take(&one, Some(now), now), Taken::Charted(vec![]));
        assert_eq!(
            all.take(&one, Some(now - 9 * MINUTE), now),
            Taken::Charted(vec![])
        );
        assert_eq!(all.take(&one, Some(now - 11 * MINUTE), now), Taken::Late);
        // An hour behind, always: no harm.
        let other = seen("a", "y", one.gaps);
        for late in [60, 59, 61] {
            assert_eq!(
                all.take(&other, Some(now - late * MINUTE), now),
                Taken::Charted(vec![])
            );
        }
        // A day ahead, once: does not make everything after it late.
        assert_eq!(
            all.take(&one, Some(now + 1440 * MINUTE), now),
            Taken::Charted(vec![])
        );
        assert_eq!(all.take(&one, Some(now), now), Taken::Charted(vec![]));
        assert_eq!(all.take(&one, None, now), Taken::Charted(vec![]));
        assert_eq!(all.stream(0).unwrap().2.count(), 8);
        let (streams, sources) = all.changed();
        assert_eq!(streams, [0]);
        assert_eq!(
            sources,
            [("x".to_owned(), now), ("y".to_owned(), now - 59 * MINUTE)]
        );
        assert_eq!(all.changed(), (vec![], vec![]));
    }

    #[test]
    fn streams_are_counted_and_bounded() {
        let mut all = regions();
        assert_eq!((all.state(), all.rate()), (State::Unknown, 0.01));
        all.take(&seen("a", "", [Some(0.1), Some(0.0), None, None]), None, 0);
        all.take(&seen("b", "", [Some(0.1), Some(0.0), None, None]), None, 0);
        let more = seen("b", "", [Some(0.1), None, None, Some(0.0)]);
        assert_eq!(all.take(&more, None, 0), Taken::TooMany);
        assert_eq!(all.streams().count(), 4);
        assert_eq!(Regions::new([0.7; 4], Some(200), 4, 0).rate(), 0.00025);
    }

    #[test]
    fn the_worst_is_told_and_changed_by_name() {
        let mut all = regions();
        let bad = seen("a", "", [Some(0.9), None, None, None]);
        let good = seen("b", "", [Some(0.0), None, None, None]);
        let alarms: Vec<Taken> = (0..800)
            .flat_map(|_| [all.take(&bad, None, 5), all.take(&good, None, 5)])
            .filter(|taken| *taken != Taken::Charted(vec![]))
            .collect();
        assert_eq!(alarms, [Taken::Charted(vec![0])]);
        assert_eq!(all.state(), State::Pause);
        let paused: Vec<_> = all
            .streams()
            .filter(|(_, _, s)| s.latch().is_some())
            .collect();
        assert_eq!(
            (paused.len(), paused[0].0.api.as_str(), paused[0].1),
            (1, "a", "obs")
        );
        assert_eq!(
            all.change(|region, _| region.api == "b", Stream::acknowledge),
            0
        );
        assert_eq!(
            all.change(|_, dimension| dimension == "obs", Stream::acknowledge),
            1
        );
        assert_eq!(all.state(), State::Ok);

        // Stored and put back, the places are the same.
        let mut back = regions();
        let stored: Vec<_> = (0..2).map(|at| all.stream(at).unwrap()).collect();
        for (region, dimension, stream) in stored {
            let stream = Stream::from_parts(&stream.to_parts()).unwrap();
            back.restore(region.clone(), dimension, stream);
        }
        assert_eq!(back.changed(), (vec![], vec![]));
        back.take(&good, None, 6);
        all.take(&good, None, 6);
        let print = |all: &Regions| all.streams().map(|s| format!("{s:?}")).collect::<Vec<_>>();
        assert_eq!(print(&back), print(&all));
    }
}
