//! From profiles and verdicts to correlations.

use fidelake_core::stats::{Chance, kendall, mean};

use super::Request;
use super::data::Data;
use super::error::{ValidateError, ValidateResult};
use super::fitted::fitted;
use super::found::{Ceiling, Dimensions, FloorHarm, Group, LeftOut, Rival, Validation};
use super::pairs::pairs;
use super::scores::{ByGroup, Measure, Scores, both, interval, rho};

/// Fewer groups have no order worth a number.
const LEAST_GROUPS: usize = 3;

const RIVALS: [&str; 4] = [
    "surface",
    "tools added",
    "query changed",
    "tools added + query changed",
];

/// Scores of the rivals, in the order of [`RIVALS`].
fn rivals(scores: &Scores, drawn: Option<&[f64]>) -> [ByGroup; 4] {
    let added = scores.means(Measure::ADDED, drawn);
    let changed = scores.means(Measure::CHANGED, drawn);
    let sum = added.iter().zip(&changed);
    let sum = sum.map(|(a, c)| a.zip(*c).map(|(a, c)| a + c)).collect();
    [scores.means(Measure::SURFACE, drawn), added, changed, sum]
}

/// Correlations of one draw of the items.
struct Drawn {
    decision: Option<f64>,
    rivals: [Option<f64>; 4],
    /// Harm of every group.
    harm: ByGroup,
}

impl Drawn {
    fn of(scores: &Scores, drawn: Option<&[f64]>) -> Self {
        let harm = scores.means(Measure::HARM, drawn);
        Self {
            decision: rho(&harm, &scores.means(Measure::DECISION, drawn)),
            rivals: rivals(scores, drawn).map(|rival| rho(&harm, &rival)),
            harm: scores.all(Measure::HARM, drawn),
        }
    }
}

fn difference(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a - b)
}

pub(super) fn validation(
    data: &Data,
    request: &Request,
    lake_version: i64,
) -> ValidateResult<Validation> {
    let count = data.labels.all.len();
    let floor: Vec<bool> = (0..count)
        .map(|group| {
            let mut own = data.items.iter().filter(|item| item.group == group);
            own.all(|item| item.equal)
        })
        .collect();
    let used: Vec<usize> = (0..count).filter(|&group| !floor[group]).collect();
    check(data, &used)?;
    let scores = Scores::of(data, used.clone());
    let labels: Vec<&str> = used.iter().map(|&g| data.labels.all[g].as_str()).collect();
    for family in &request.families {
        let own = labels.iter().filter(|label| family.has(label)).count();
        if own == 0 || own == labels.len() {
            let which = if own == 0 { "no group" } else { "every group" };
            return Err(ValidateError::Family {
                text: family.text(),
                why: format!("{which} has such a label; there are {}", labels.join(", ")),
            });
        }
    }
    let harm = scores.means(Measure::HARM, None);
    let decision = scores.means(Measure::DECISION, None);
    let surface = scores.means(Measure::SURFACE, None);
    let parts = Measure::PARTS.map(|part| scores.means(part, None));
    let whole = Drawn::of(&scores, None);
    let draws: Vec<Drawn> = scores
        .draws(request.resamples, request.seed)
        .map(|drawn| Drawn::of(&scores, Some(&drawn)))
        .collect();
    let over_items =
        |of: &dyn Fn(&Drawn) -> Option<f64>| interval(&draws.iter().map(of).collect::<Vec<_>>());
    let rivals: Vec<Rival> = RIVALS
        .iter()
        .enumerate()
        .map(|(at, name)| Rival {
            name: (*name).to_owned(),
            spearman: whole.rivals[at],
            interval: over_items(&|drawn| drawn.rivals[at]),
            difference: difference(whole.decision, whole.rivals[at]),
            difference_interval: over_items(&|d| difference(d.decision, d.rivals[at])),
        })
        .collect();
    let best = rivals.iter().filter(|rival| rival.spearman.is_some());
    let best = best.max_by(|a, b| {
        a.spearman
            .partial_cmp(&b.spearman)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let best_rival = best.map(|rival| rival.name.clone());
    let without = |name: &str, leave: &dyn Fn(&str) -> bool| {
        let keep = |of: &ByGroup| -> ByGroup {
            let kept = of.iter().zip(&labels).filter(|(_, label)| !leave(label));
            kept.map(|(value, _)| *value).collect()
        };
        let harm = keep(&harm);
        LeftOut {
            left_out: name.to_owned(),
            spearman_decision: rho(&harm, &keep(&decision)),
            spearman_surface: rho(&harm, &keep(&surface)),
        }
    };
    let singly = labels
        .iter()
        .map(|own| without(own, &|label| label == *own));
    let families = request.families.iter();
    let families = families.map(|f| without(&f.name, &|label| f.has(label)));
    let tau = |score: &ByGroup| {
        let (a, b) = both(&harm, score);
        kendall(&a, &b)
    };
    let (auc, reliability) = pairs(data, &used);
    let everything = Scores::of(data, (0..count).collect());
    let floor_harm = floor_harm(data, &floor, &everything);
    let of_part = |at: usize| rho(&harm, &parts[at]);
    Ok(Validation {
        lake_version,
        by: request.by.clone(),
        agents: data.agents.all.clone(),
        items: data.tasks.all.len() as u64,
        items_in_all_groups: in_all_groups(data),
        unlabelled: data.unlabelled,
        gold_source: data.sources.iter().cloned().collect(),
        spearman_decision: whole.decision,
        spearman_decision_interval: over_items(&|drawn| drawn.decision),
        spearman_decision_interval_groups: over_groups(&harm, &decision, request),
        spearman_decision_with_floor: Drawn::of(&everything, None).decision,
        spearman_decision_floored_each: rho(&harm, &scores.means(Measure::FLOORED, None)),
        spearman_surface: whole.rivals[0],
        spearman_surface_interval: over_items(&|drawn| drawn.rivals[0]),
        kendall_decision: tau(&decision),
        kendall_surface: tau(&surface),
        dimensions: Dimensions {
            obs: of_part(0),
            act: of_part(1),
            rew: of_part(2),
            trans: of_part(3),
        },
        floor: floor_harm.clone(),
        ceiling: ceiling(data, &scores, &decision),
        rivals,
        best_rival,
        leave_one_out: singly.collect(),
        leave_one_family_out: families.collect(),
        auc,
        reliability,
        ordering: super::ordering::ordering(data, &|_| true),
        fitted: request
            .fit
            .then(|| fitted(&labels, &harm, &parts, &request.families, floor_harm.harm))
            .flatten(),
        groups: groups(data, &floor, &everything, &draws),
        resamples: request.resamples as u64,
        seed: request.seed,
    })
}

fn check(data: &Data, used: &[usize]) -> ValidateResult<()> {
    let little = |why: String| Err(ValidateError::TooLittle(why));
    if data.judged.is_empty() {
        return little("no labelled trajectory has verdicts on both arms".into());
    }
    if used.len() < LEAST_GROUPS {
        return little(format!(
            "{} groups differ between the arms, and a rank correlation needs {LEAST_GROUPS}: choose another label with --by",
            used.len()
        ));
    }
    if data.items.iter().all(|item| item.signed.is_none()) {
        return little(
            "no trajectory has a decision gap: it needs task and catalog on both arms, and gold calls or a run on sim; then run `fidelake profile`"
                .into(),
        );
    }
    Ok(())
}

fn in_all_groups(data: &Data) -> u64 {
    let mut seen = vec![std::collections::HashSet::new(); data.tasks.all.len()];
    for item in &data.items {
        seen[item.task].insert(item.group);
    }
    let all = data.labels.all.len();
    seen.iter().filter(|groups| groups.len() == all).count() as u64
}

fn floor_harm(data: &Data, floor: &[bool], everything: &Scores) -> FloorHarm {
    let harm = everything.means(Measure::HARM, None);
    let groups: Vec<usize> = (0..floor.len()).filter(|&group| floor[group]).collect();
    let harms: Vec<f64> = groups.iter().filter_map(|&group| harm[group]).collect();
    FloorHarm {
        harm: mean(&harms),
        groups: groups.iter().map(|&g| data.labels.all[g].clone()).collect(),
    }
}

/// The interval over draws of the groups themselves.
fn over_groups(harm: &ByGroup, decision: &ByGroup, request: &Request) -> Option<[f64; 2]> {
    // Its own stream, so that the two bootstraps share no chance.
    let mut chance = Chance::new(request.seed ^ 0x67_726f_7570);
    let draws: Vec<Option<f64>> = (0..request.resamples)
        .map(|_| {
            let drawn: Vec<usize> = (0..harm.len()).map(|_| chance.below(harm.len())).collect();
            let pick = |of: &ByGroup| -> ByGroup { drawn.iter().map(|&at| of[at]).collect() };
            rho(&pick(harm), &pick(decision))
        })
        .collect();
    interval(&draws)
}

fn ceiling(data: &Data, scores: &Scores, decision: &ByGroup) -> Ceiling {
    let agents = data.agents.all.len();
    let harms: Vec<ByGroup> = (0..agents)
        .map(|agent| scores.means(Measure::of_agent(agent), None))
        .collect();
    let mut between = Vec::new();
    let mut against = Vec::new();
    for a in 0..agents {
        between.extend((0..a).filter_map(|b| rho(&harms[a], &harms[b])));
        let others = (0..scores.used.len()).map(|group| {
            let of: Vec<f64> = (0..agents)
                .filter(|&b| b != a)
                .filter_map(|b| harms[b][group])
                .collect();
            mean(&of)
        });
        against.extend(rho(&harms[a], &others.collect::<ByGroup>()));
    }
    let range = between
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &r| {
            [low.min(r), high.max(r)]
        });
    let own = data.agents.all.iter().zip(&harms);
    Ceiling {
        between_agents: mean(&between),
        between_agents_range: (!between.is_empty()).then_some(range),
        one_against_others: mean(&against),
        decision_by_agent: own
            .map(|(name, harm)| (name.clone(), rho(harm, decision)))
            .collect(),
    }
}

fn groups(data: &Data, floor: &[bool], everything: &Scores, draws: &[Drawn]) -> Vec<Group> {
    let [harm, net, decision, surface] = [
        Measure::HARM,
        Measure::NET,
        Measure::DECISION,
        Measure::SURFACE,
    ]
    .map(|measure| everything.means(measure, None));
    let parts = Measure::PARTS.map(|part| everything.means(part, None));
    let mut pairs = vec![0u64; data.labels.all.len()];
    for judged in &data.judged {
        pairs[data.items[judged.item].group] += 1;
    }
    let se = |group: usize| {
        let drawn: Vec<f64> = draws.iter().filter_map(|drawn| drawn.harm[group]).collect();
        let centre = mean(&drawn)?;
        let squares: Vec<f64> = drawn.iter().map(|h| (h - centre).powi(2)).collect();
        mean(&squares).map(f64::sqrt)
    };
    let mut groups: Vec<Group> = (0..data.labels.all.len())
        .map(|at| Group {
            label: data.labels.all[at].clone(),
            n: pairs[at],
            harm: harm[at],
            harm_se: se(at),
            net: net[at],
            decision: decision[at],
            surface: surface[at],
            obs: parts[0][at],
            act: parts[1][at],
            rew: parts[2][at],
            trans: parts[3][at],
            floor: floor[at],
        })
        .collect();
    let key = |group: &Group| group.harm.unwrap_or(f64::NEG_INFINITY);
    groups.sort_by(|a, b| {
        key(a)
            .total_cmp(&key(b))
            .then_with(|| a.label.cmp(&b.label))
    });
    groups
}
