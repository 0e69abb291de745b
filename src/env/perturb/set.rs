//! A list of perturbations, in order, and what it makes of a task, of a catalog and of
//! an environment.

use std::sync::Arc;

use fidelake_core::perturb::{
    ActsOn, Draw, Offer, Perturbation, Register, mistyped, offer, paraphrased,
};

use super::error::PerturbError;
use super::setting::{Item, Setting};
use super::{Around, Perturbed};
use crate::env::Environment;

/// Perturbations from the environment outwards, with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Perturbations {
    pub(super) settings: Vec<Setting>,
    seed: u64,
}

impl Perturbations {
    /// Checks a list as a plan spells it.
    ///
    /// # Errors
    /// With the first mistake, and what would be right.
    pub fn new(items: &[Item], seed: u64) -> Result<Self, PerturbError> {
        let mut settings: Vec<Setting> = Vec::new();
        for item in items {
            let setting = Setting::of(item)?;
            if settings.iter().any(|other| other.overlaps(&setting)) {
                return Err(PerturbError::Twice(setting.kind.as_str()));
            }
            settings.push(setting);
        }
        if settings.is_empty() {
            return Err(PerturbError::Empty);
        }
        Ok(Self { settings, seed })
    }

    /// One perturbation, everything but its intensity as by default.
    ///
    /// # Errors
    /// If the intensity is not in [0,1].
    pub fn one(kind: Perturbation, intensity: f64, seed: u64) -> Result<Self, PerturbError> {
        let settings = vec![Setting::plain(kind, intensity)?];
        Ok(Self { settings, seed })
    }

    /// Reads `NAME[=INTENSITY],...` as a command line spells it.
    ///
    /// # Errors
    /// With the first mistake, and what would be right.
    pub fn parse(list: &str, seed: u64) -> Result<Self, PerturbError> {
        let items = list.split(',').map(str::trim).filter(|one| !one.is_empty());
        let items = items.map(|one| {
            let (name, intensity) = match one.split_once('=') {
                None => (one, None),
                Some((name, given)) => (name.trim(), Some(given.trim())),
            };
            let kind =
                Perturbation::parse(name).ok_or_else(|| PerturbError::Unknown(name.to_owned()))?;
            let number = |given: &str| {
                given.parse().map_err(|_| PerturbError::Intensity {
                    name: kind.as_str(),
                    given: given.to_owned(),
                })
            };
            Ok(Item {
                name: name.to_owned(),
                intensity: intensity.map(number).transpose()?,
                ..Item::default()
            })
        });
        Self::new(&items.collect::<Result<Vec<_>, _>>()?, seed)
    }

    /// The value of the label `perturbation`: the names, joined by `+`.
    #[must_use]
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.kinds().map(Perturbation::as_str).collect();
        names.join("+")
    }

    /// The intensities, as [`Self::parse`] reads them: `NAME=INTENSITY,...`.
    #[must_use]
    pub fn intensities(&self) -> String {
        let each = self.settings.iter();
        let each = each.map(|one| format!("{}={}", one.kind.as_str(), one.intensity));
        each.collect::<Vec<_>>().join(",")
    }

    /// Which ones, in order.
    pub fn kinds(&self) -> impl Iterator<Item = Perturbation> {
        self.settings.iter().map(|setting| setting.kind)
    }

    /// Every perturbation of the list as a list of its own.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.settings.iter().map(|setting| Self {
            settings: vec![setting.clone()],
            seed: self.seed,
        })
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// An error for the first that cannot be applied to recorded runs.
    pub(super) fn only_static(&self) -> Result<(), PerturbError> {
        match self.kinds().find(|kind| !kind.is_static()) {
            Some(kind) => Err(PerturbError::Calls(kind.as_str())),
            None => Ok(()),
        }
    }

    fn draw<'d>(&self, trajectory: &'d str) -> Draw<'d> {
        Draw {
            seed: self.seed,
            trajectory,
        }
    }

    /// What the agent is told. Perturbations of anything else leave it as it is.
    #[must_use]
    pub fn task(&self, trajectory: &str, text: &str) -> String {
        let draw = self.draw(trajectory);
        let mut told = text.to_owned();
        for setting in &self.settings {
            let (name, intensity) = (setting.kind.as_str(), setting.intensity);
            match setting.kind {
                Perturbation::ObsTypos => told = mistyped(&told, &draw, name, intensity),
                Perturbation::ObsParaphrase => {
                    told = paraphrased(&told, Register::Task, &draw, name, "task", intensity);
                }
                _ => {}
            }
        }
        told
    }

    /// What the agent is offered: declarations as JSON texts. `targets` are the names of
    /// the tools that matter; without them all do. [`Offer::behind`] names the tool of the
    /// given catalog.
    #[must_use]
    pub fn catalog(
        &self,
        trajectory: &str,
        catalog: &[&str],
        targets: Option<&[String]>,
    ) -> Vec<Offer> {
        let draw = self.draw(trajectory);
        let mut offers: Option<Vec<Offer>> = None;
        let on_catalog = self
            .settings
            .iter()
            .filter(|s| s.acts_on() == ActsOn::Catalog);
        for setting in on_catalog {
            let texts: Vec<&str> = match &offers {
                None => catalog.to_vec(),
                Some(offers) => offers.iter().map(|o| &*o.declaration).collect(),
            };
            let meant = setting.tools.as_ref().map(|t| t.iter().cloned().collect());
            let meant: Option<Vec<String>> =
                meant.or_else(|| Some(now_called(targets?, offers.as_deref())));
            let made = offer(
                setting.kind,
                &texts,
                meant.as_deref(),
                &draw,
                setting.intensity,
            );
            offers = Some(joined(offers.as_deref(), made.tools));
        }
        offers.unwrap_or_else(|| {
            // No layer: the kind is of no consequence at intensity 0.
            offer(Perturbation::ObsToolDesc, catalog, None, &draw, 0.0).tools
        })
    }

    /// What stands around an environment: at intensity 0 nothing does.
    fn layers(&self) -> impl Iterator<Item = &Setting> {
        self.settings
            .iter()
            .filter(|setting| setting.acts_on() != ActsOn::Task && setting.intensity > 0.0)
    }

    /// Whether these can stand around an environment in this way.
    pub(super) fn permitted(&self, around: &Around) -> Result<(), PerturbError> {
        let mut others = false;
        for setting in self.layers() {
            let name = setting.kind.as_str();
            if setting.makes_calls() && !around.uncounted_calls {
                return Err(PerturbError::Uncounted(name));
            }
            if setting.kind != Perturbation::EventualConsistency {
                others = true;
            } else if others {
                return Err(PerturbError::First(name));
            }
        }
        Ok(())
    }

    /// The environment with these perturbations around it. Those of the task are left
    /// out: see [`Self::task`].
    ///
    /// # Errors
    /// If one makes calls of its own and that is not permitted, or stands in the wrong place.
    pub fn around(
        &self,
        environment: Arc<dyn Environment>,
        around: Around,
    ) -> Result<Arc<dyn Environment>, PerturbError> {
        self.permitted(&around)?;
        let around = Arc::new(around);
        let mut outer = environment;
        for setting in self.layers() {
            outer = Arc::new(Perturbed {
                inner: outer,
                setting: setting.clone(),
                seed: self.seed,
                around: Arc::clone(&around),
            });
        }
        Ok(outer)
    }
}

/// The names that the targets have after the layers so far.
fn now_called(targets: &[String], offers: Option<&[Offer]>) -> Vec<String> {
    let Some(offers) = offers else {
        return targets.to_vec();
    };
    let own = |offer: &&Offer| offer.behind.as_ref().is_some_and(|b| targets.contains(b));
    offers
        .iter()
        .filter(own)
        .map(|offer| offer.name.clone())
        .collect()
}

/// A layer's offers in terms of what stands below the layer before.
fn joined(below: Option<&[Offer]>, made: Vec<Offer>) -> Vec<Offer> {
    let Some(below) = below else {
        return made;
    };
    // Kept ones follow each other as they did, also where several have one name.
    let mut left = below.iter();
    let through = made.into_iter().map(|offer| match &offer.behind {
        None => offer,
        Some(_) => match left.next() {
            Some(before) => Offer {
                behind: before.behind.clone(),
                changed: offer.changed || before.changed,
                ..offer
            },
            None => offer,
        },
    });
    through.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOG: [&str; 2] = [
        r#"{"name":"get_user","description":"Gets a user","parameters":{"type":"object","properties":{"id":{"type":"string"}}}}"#,
        r#"{"name":"add","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}"#,
    ];

    fn names(list: &str, targets: Option<&[String]>) -> Vec<(String, Option<String>)> {
        let set = Perturbations::parse(list, 1).unwrap();
        set.catalog("t", &CATALOG, targets)
            .into_iter()
            .map(|offer| (offer.name, offer.behind))
            .collect()
    }

    #[test]
    fn order_counts_and_targets_follow_their_new_names() {
        let gold = ["get_user".to_owned()];
        let of = |name: &str, behind: Option<&str>| (name.to_owned(), behind.map(str::to_owned));
        let mut renamed = names("reward_cd_ab,action_a", Some(&gold));
        renamed.sort();
        // The decoy has the new name: it was put before the renamed tool.
        let expected = [
            of("GT_USR", None),
            of("GT_USR", Some("get_user")),
            of("add", Some("add")),
            of("get_user_1", None),
        ];
        assert_eq!(renamed, expected);
        let mut other = names("action_a,reward_cd_ab", Some(&gold));
        other.sort();
        // Both tools of the name are renamed: the second layer sees what the first offers.
        assert!(
            other
                .iter()
                .filter(|(_, behind)| behind.as_deref() == Some("get_user"))
                .count()
                == 1
        );
        assert_ne!(other, renamed);
    }

    #[test]
    fn lists_are_checked_and_have_one_name() {
        let set = Perturbations::parse(" obs_typos=0.5 , action_a", 3).unwrap();
        assert_eq!(
            (set.label().as_str(), set.seed()),
            ("obs_typos+action_a", 3)
        );
        assert_eq!(
            set.each().map(|one| one.label()).collect::<Vec<_>>(),
            ["obs_typos", "action_a"]
        );
        for (list, said) in [
            ("", "no perturbation"),
            ("obs_typo", "\"obs_typo\""),
            ("obs_typos=x", "from 0 to 1"),
            ("action_a,ACTION-A", "twice"),
        ] {
            let error = Perturbations::parse(list, 0).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(
            Perturbations::parse("latency", 0)
                .unwrap()
                .only_static()
                .is_err()
        );
    }

    #[test]
    fn without_layers_nothing_changes() {
        let set = Perturbations::parse("obs_typos,transition_timeout=0", 1).unwrap();
        let same = set.catalog("t", &CATALOG, None);
        assert!(
            same.iter()
                .zip(CATALOG)
                .all(|(offer, text)| offer.declaration == text && !offer.changed)
        );
        assert_ne!(
            set.task("t", &"please receive it ".repeat(40)),
            "please receive it ".repeat(40)
        );
    }
}
