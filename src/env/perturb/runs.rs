//! Recorded runs with another task and another catalog: the arm `real` of a world that
//! nobody has called yet.

use fidelake_core::json::{Doc, Kind, Node, push_json_string};
use fidelake_core::model::Arm;

use super::error::PerturbError;
use super::set::Perturbations;
use crate::formats::run::Run;
use crate::formats::{Context, Format, read_record};

/// One list of perturbations to apply to every run.
#[derive(Clone, Debug)]
pub struct Variant {
    set: Perturbations,
    label: String,
}

impl Variant {
    /// # Errors
    /// If one of the list changes answers, which only an environment gives.
    pub fn new(set: Perturbations) -> Result<Self, PerturbError> {
        set.only_static()?;
        let label = set.label();
        Ok(Self { set, label })
    }

    /// The value of the label `perturbation`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Both arms, one line each, and whether they differ.
    Pair {
        /// The run as it was, under the variant's trajectory.
        sim: String,
        /// The run in the perturbed world.
        real: String,
        /// Whether anything but ids and labels differs.
        changed: bool,
    },
    /// It is no run of arm `sim`.
    OtherArm,
}

/// Applies a variant to one line in the native run form. The trajectory becomes
/// `ID/LABEL`, its task that of before, so that the variants of one task belong together.
///
/// # Errors
/// A text that says why the line is no run.
pub fn perturb_line(line: &str, variant: &Variant) -> Result<Written, String> {
    let doc = Doc::parse(line).map_err(|error| format!("no JSON: {error}"))?;
    let context = Context {
        environment: None,
        guessed: None,
        arm: None,
        tau2: None,
        catalog: None,
    };
    let mut written = None;
    read_record(Format::Native, &doc, &context, &mut |run| {
        written = Some(of_run(doc.root(), &run, variant));
    })
    .map_err(|reject| format!("{} (a run in the native form is needed)", reject.message))?;
    written.ok_or_else(|| "no run".to_owned())
}

fn of_run(root: Node<'_>, run: &Run<'_>, variant: &Variant) -> Written {
    if run.arm != Arm::Sim {
        return Written::OtherArm;
    }
    let set = &variant.set;
    let told = run.task.as_deref();
    let task = told.map(|text| set.task(&run.trajectory_id, text));
    let gold = root
        .get_some("gold")
        .filter(|gold| gold.kind() == Kind::Array);
    let targets = targets(gold, run);
    let catalog: Option<Vec<&str>> = run
        .catalog
        .as_ref()
        .map(|tools| tools.iter().map(|tool| tool.raw()).collect());
    let offers = catalog
        .as_ref()
        .map(|tools| set.catalog(&run.trajectory_id, tools, targets.as_deref()));
    let changed = task.as_deref() != told || offers.iter().flatten().any(|offer| offer.changed);
    let given = gold.filter(|gold| !gold.is_empty());
    let of_calls = given.is_none() && !run.calls.is_empty();
    // Nobody has made calls in the new world, so only what was told and offered is compared:
    // answers on one side would pass for a difference.
    let mut common: Vec<(&str, String)> = vec![
        (
            "trajectory_id",
            json(&format!("{}/{}", run.trajectory_id, variant.label)),
        ),
        (
            "task_id",
            json(run.task_id.as_deref().unwrap_or(&run.trajectory_id)),
        ),
        ("labels", labels(root, variant, changed, of_calls)),
        ("calls", "[]".to_owned()),
    ];
    let recorded = of_calls.then(|| gold_of(run));
    common.extend(recorded.clone().map(|gold| ("gold", gold)));
    let sim = object(root, &common, |key| key != "messages");
    common.retain(|(key, _)| *key != "gold");
    common.push(("arm", json("real")));
    common.push(("origin", json("generated")));
    common.extend(task.map(|task| ("task", json(&task))));
    if let Some(offers) = &offers {
        let tools: Vec<&str> = offers.iter().map(|offer| &*offer.declaration).collect();
        common.push(("catalog", format!("[{}]", tools.join(","))));
    }
    let new = |old: &str| {
        let own = offers.iter().flatten();
        let own = own.clone().find(|o| o.behind.as_deref() == Some(old));
        own.map(|offer| offer.name.clone())
    };
    let recorded = recorded.as_deref().and_then(|gold| Doc::parse(gold).ok());
    let right = given.or(recorded.as_ref().map(Doc::root));
    common.extend(right.map(|gold| ("gold", renamed(gold, new))));
    let real = object(root, &common, |key| !OF_THE_RUN.contains(&key));
    Written::Pair { sim, real, changed }
}

/// What belongs to the run that was made, and not to the world it was made in.
const OF_THE_RUN: [&str; 7] = [
    "verdicts",
    "messages",
    "started_at",
    "ended_at",
    "termination",
    "policy",
    "environment_version",
];

/// The calls that were made, as the right ones.
fn gold_of(run: &Run<'_>) -> String {
    let calls = run.calls.iter().filter_map(|call| {
        let arguments = call.arguments.as_deref().unwrap_or("{}");
        let arguments = match Doc::parse(arguments) {
            Ok(_) => arguments.to_owned(),
            Err(_) => json(arguments),
        };
        let name = json(call.name.as_deref()?);
        Some(format!(r#"{{"name":{name},"arguments":{arguments}}}"#))
    });
    let calls: Vec<String> = calls.collect();
    format!("[{}]", calls.join(","))
}

/// Names of the tools of the right calls, else of those that were made.
fn targets(gold: Option<Node<'_>>, run: &Run<'_>) -> Option<Vec<String>> {
    let of_gold = gold.into_iter().flat_map(Node::elements);
    let mut names: Vec<String> = of_gold
        .filter_map(|call| call.get_str("name"))
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        names = run
            .calls
            .iter()
            .filter_map(|call| call.name.as_deref())
            .map(str::to_owned)
            .collect();
    }
    (!names.is_empty()).then_some(names)
}

fn labels(root: Node<'_>, variant: &Variant, changed: bool, of_calls: bool) -> String {
    let mut own = vec![
        ("perturbation", json(&variant.label)),
        ("perturbation_intensity", json(&variant.set.intensities())),
        ("perturbation_seed", variant.set.seed().to_string()),
        ("perturbation_changed", changed.to_string()),
    ];
    if of_calls {
        own.push(("perturbation_gold", json("calls")));
    }
    match root.get_some("labels") {
        Some(labels) if labels.kind() == Kind::Object => object(labels, &own, |_| true),
        _ => {
            let own: Vec<String> = own
                .iter()
                .map(|(key, value)| format!("{}:{value}", json(key)))
                .collect();
            format!("{{{}}}", own.join(","))
        }
    }
}

fn renamed(gold: Node<'_>, new: impl Fn(&str) -> Option<String>) -> String {
    let calls = gold.elements().map(|call| {
        let other = call
            .get_str("name")
            .and_then(|old| new(old).filter(|new| new != old));
        match other {
            Some(name) => object(call, &[("name", json(&name))], |_| true),
            None => call.raw().to_owned(),
        }
    });
    let calls: Vec<String> = calls.collect();
    format!("[{}]", calls.join(","))
}

/// The object with some values set, each where it stands or at the end, and without the
/// keys that are not kept. Everything else stays as spelled.
fn object(node: Node<'_>, set: &[(&str, String)], keep: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(node.raw().len() + 256);
    let mut entry = |key: &str, value: &str| {
        out.push(if out.is_empty() { '{' } else { ',' });
        push_json_string(key, &mut out);
        out.push(':');
        out.push_str(&crate::env::one_line(value));
    };
    let value_of = |key: &str| set.iter().find(|(known, _)| *known == key);
    let mut done: Vec<&str> = Vec::new();
    for (key, value) in node.entries() {
        match value_of(key) {
            Some((known, _)) if done.contains(known) => {}
            Some((known, value)) => {
                done.push(known);
                entry(key, value);
            }
            None if keep(key) => entry(key, value.raw()),
            None => {}
        }
    }
    for (key, value) in set.iter().filter(|(key, _)| !done.contains(key)) {
        entry(key, value);
    }
    out.push('}');
    out
}

fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_json_string(text, &mut out);
    out
}
