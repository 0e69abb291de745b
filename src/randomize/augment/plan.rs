//! What is spliced: kinds of failures, their places, and how much of each.

use std::collections::{BTreeMap, BTreeSet};

use fidelake_core::json::{Doc, Kind as JsonKind};
use fidelake_core::stats::Chance;

use super::AugmentError;
use super::choose::{Choice, Counts, Limits, Place, choose, level};
use super::read::{Donor, Seen, Spot, donors, run_counts, spots};
use super::splice::Splice;
use crate::engine::Engine;
use crate::randomize::Experience;

/// Texts shorter than this stand in answers by chance.
const SHORTEST_QUOTE: usize = 3;

/// One kind of rare failure, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// Its environment.
    pub environment: String,
    /// Its API.
    pub api: String,
    /// How it fails.
    pub outcome: String,
    /// Real calls of the API, and those that failed so.
    pub real: (u64, u64),
    /// Simulated calls of the API, and those that failed so.
    pub sim: (u64, u64),
    /// Places whose surroundings the real world has shown.
    pub places: usize,
    /// What was chosen of them.
    pub choice: Choice,
    /// Why nothing was, in words.
    pub why: Option<&'static str>,
}

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Augmentation {
    /// Every kind of rare failure.
    pub kinds: Vec<Kind>,
    /// The splices, in the order of their trajectories.
    pub splices: Vec<Splice>,
}

/// Chooses splices for one environment, or for all.
///
/// # Errors
/// If the lake cannot be read, or has nothing of that environment.
pub async fn augmentation(
    engine: &Engine,
    environment: Option<&str>,
    limits: Limits,
) -> Result<Augmentation, AugmentError> {
    let graph = Experience::open(engine, environment, "real").await?;
    let seen = Seen::of(&graph, limits).await?;
    if seen.rare.is_empty() {
        return Ok(Augmentation::default());
    }
    seen.name(engine)?;
    let (all_spots, all_donors) = (spots(engine).await?, donors(engine).await?);
    let hosts: BTreeSet<&str> = all_spots
        .values()
        .flatten()
        .map(|spot| spot.run.as_str())
        .collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let runs = run_counts(engine, &hosts).await?;

    let level = level(limits.alpha, seen.rare.len());
    let mut result = Augmentation::default();
    let mut left = limits.most;
    for (number, (kind, counts)) in seen.rare.iter().enumerate() {
        let seed = limits.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let donors = all_donors.get(kind).map_or(&[][..], Vec::as_slice);
        let spots = all_spots.get(&kind.0).map_or(&[][..], Vec::as_slice);
        let fitting = fitting(
            spots,
            donors,
            |spot| seen.supports(kind, &spot.before),
            seed,
        );
        let places: Vec<Place> = fitting
            .iter()
            .enumerate()
            .map(|(at, (spot, _, _))| {
                let own = runs.get(&spot.run);
                let of_api = own
                    .into_iter()
                    .flatten()
                    .filter(|((api, _), _)| *api == kind.0);
                Place {
                    at,
                    calls: of_api.map(|(_, calls)| calls).sum(),
                    own: own
                        .and_then(|own| own.get(kind))
                        .copied()
                        .unwrap_or_default(),
                }
            })
            .collect();
        let limits = Limits {
            most: left,
            ..limits
        };
        let choice = choose(*counts, &places, limits, level, seed);
        left -= choice.taken.len();
        for &at in &choice.taken {
            if let Some((spot, donor, replaced)) = fitting.get(at) {
                result.splices.push(Splice {
                    host: spot.run.clone(),
                    turn: spot.turn,
                    donor: donor.run.clone(),
                    donor_turn: donor.turn,
                    donor_index: donor.index,
                    trajectory: format!("augmented/{}/{}/{}", kind.1, spot.run, spot.turn),
                    replaced: replaced.clone(),
                    outcome: kind.1.clone(),
                });
            }
        }
        let why = why(*counts, spots, donors, &places, &choice);
        result.kinds.push(Kind {
            environment: kind.0.0.clone(),
            api: kind.0.1.clone(),
            outcome: kind.1.clone(),
            real: (counts.real_calls, counts.real),
            sim: (counts.sim_calls, counts.sim),
            places: places.len(),
            choice,
            why,
        });
    }
    Ok(result)
}

fn why(
    counts: Counts,
    spots: &[Spot],
    donors: &[Donor],
    places: &[Place],
    choice: &Choice,
) -> Option<&'static str> {
    if !choice.taken.is_empty() {
        return None;
    }
    Some(match () {
        () if counts.retried == 0 => "no real run made the call again with success",
        () if spots.is_empty() => "the simulator never answers this API well",
        () if donors.is_empty() => "no real answer of it was kept",
        () if places.is_empty() => {
            "no simulated call stands where the real world failed so, with arguments for its answer"
        }
        () if choice.refused > 0 => "one more would tell the set from the real world",
        () => "as many as were asked for are there",
    })
}

/// A spot, an answer for it, and the texts to replace in the answer.
type Fit<'a> = (&'a Spot, &'a Donor, Vec<(String, String)>);

/// The spots that the real world supports, each with an answer that fits it.
fn fitting<'a>(
    spots: &'a [Spot],
    donors: &'a [Donor],
    supported: impl Fn(&Spot) -> bool,
    seed: u64,
) -> Vec<Fit<'a>> {
    let mut chance = Chance::new(seed ^ 0x5851_f42d_4c95_7f2d);
    let mut found = Vec::new();
    for spot in spots.iter().filter(|spot| supported(spot)) {
        let own = texts(&spot.arguments);
        let first = chance.below(donors.len().max(1));
        let turned = donors.iter().cycle().skip(first).take(donors.len());
        let fits = turned
            .into_iter()
            .find_map(|donor| Some((donor, swaps(&texts(&donor.arguments), &own)?)));
        if let Some((donor, replaced)) = fits {
            found.push((spot, donor, replaced));
        }
    }
    found
}

/// Texts of the donor's arguments and the host's in their place; `None` if the host lacks one.
/// Whether an answer quotes them shows when it is written: they are replaced wherever they stand.
fn swaps(
    donor: &BTreeMap<String, String>,
    host: &BTreeMap<String, String>,
) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (name, text) in donor
        .iter()
        .filter(|(_, text)| text.len() >= SHORTEST_QUOTE)
    {
        let own = host.get(name)?;
        if own != text {
            pairs.push((text.clone(), own.clone()));
        }
    }
    // The longest first: one may be part of another.
    pairs.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    Some(pairs)
}

/// The arguments that are texts.
fn texts(arguments: &str) -> BTreeMap<String, String> {
    let Ok(doc) = Doc::parse(arguments) else {
        return BTreeMap::new();
    };
    let entries = doc.root().entries();
    let texts = entries.filter(|(_, value)| value.kind() == JsonKind::String);
    texts
        .map(|(name, value)| {
            (
                name.to_owned(),
                value.as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_fits_where_the_host_has_what_it_may_quote() {
        let of = |text: &str| texts(text);
        let donor = of(r#"{"id":"flight-7","n":3,"k":"ab"}"#);
        let swapped = swaps(&donor, &of(r#"{"id":"flight-9"}"#)).unwrap();
        assert_eq!(swapped, [("flight-7".to_owned(), "flight-9".to_owned())]);
        assert!(swaps(&donor, &of(r#"{"n":3}"#)).is_none());
        assert_eq!(swaps(&donor, &donor).unwrap(), []);
    }
}
