//! What an agent is offered, perturbed.

use crate::stats::Chance;

use super::abbreviate::abbreviated;
use super::declaration::{Declaration, NO_PARAMETERS, with_parameter_descriptions, with_text};
use super::decoy::{metadata, related, same_name, same_schema};
use super::draw::Draw;
use super::kind::Perturbation;
use super::paraphrase::{Register, paraphrased};

/// One tool of a perturbed catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The name that a call gives.
    pub name: String,
    /// The declaration, JSON text; what is not changed stays as spelled.
    pub declaration: String,
    /// Name of the tool behind it; `None` for one that was added.
    pub behind: Option<String>,
    /// Whether it differs from what was there.
    pub changed: bool,
}

/// A perturbed catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// In order.
    pub tools: Vec<Offer>,
}

impl Offered {
    /// Whether it differs from what was there.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.tools.iter().any(|tool| tool.changed)
    }

    /// The new name of a tool that was renamed.
    #[must_use]
    pub fn renamed(&self, old: &str) -> Option<&str> {
        let new = self
            .tools
            .iter()
            .find(|tool| tool.behind.as_deref() == Some(old) && tool.name != old)?;
        Some(&new.name)
    }
}

/// A catalog (declarations as JSON texts) as the agent meets it. `targets` are the
/// names of the tools that matter, such as those of the right calls; without them
/// all do. A declaration that cannot be read stays as it is. `intensity` in [0,1].
#[must_use]
pub fn offer(
    kind: Perturbation,
    catalog: &[&str],
    targets: Option<&[String]>,
    draw: &Draw<'_>,
    intensity: f64,
) -> Offered {
    let read: Vec<Option<Declaration>> = catalog.iter().map(|t| Declaration::read(t)).collect();
    let is_target = |tool: &Declaration| targets.is_none_or(|list| list.contains(&tool.name));
    let mut taken: Vec<String> = read
        .iter()
        .flatten()
        .map(|tool| tool.name.clone())
        .collect();
    let mut offered = Offered::default();
    for (at, text) in catalog.iter().enumerate() {
        let Some(tool) = &read[at] else {
            offered.tools.push(kept(text, ""));
            continue;
        };
        let strikes = || {
            draw.strikes(
                kind.as_str(),
                &format!("tool {} {at}", tool.name),
                intensity,
            )
        };
        let mut chance = draw.chance(kind.as_str(), &format!("tool {} {at} how", tool.name));
        let tools = &mut offered.tools;
        match kind {
            Perturbation::ObsToolDesc if strikes() => tools.push(reworded(text, tool, draw)),
            Perturbation::ObsParamDesc if strikes() => {
                tools.push(parameters_reworded(text, tool, draw));
            }
            Perturbation::ActionRedundant if is_target(tool) && strikes() => {
                tools.push(kept(text, &tool.name));
                for more in related(tool, &taken, &mut chance) {
                    taken.push(more.name.clone());
                    tools.push(added(&more));
                }
            }
            _ if is_same_name(kind) && is_target(tool) && strikes() => {
                let other = lender(&read, at, &is_target, &mut chance);
                let decoy = same_name(kind, tool, other);
                // Before it: who looks for a name meets the decoy first.
                tools.extend(decoy.as_ref().map(added));
                tools.push(kept(text, &tool.name));
            }
            _ => match metadata(kind).filter(|_| is_target(tool) && strikes()) {
                Some(of) => {
                    let copy = Declaration {
                        name: free(&format!("{}{}", tool.name, of.suffix), &taken),
                        description: told(&tool.description, of.copy),
                        schema: Some(NO_PARAMETERS.to_owned()),
                        schema_key: tool.schema_key,
                    };
                    taken.push(copy.name.clone());
                    let mut own = Offer {
                        declaration: with_text(
                            text,
                            "description",
                            &told(&tool.description, of.own),
                        ),
                        changed: true,
                        ..kept(text, &tool.name)
                    };
                    if of.abbreviates {
                        own.name = free(&abbreviated(&tool.name), &taken);
                        own.declaration = with_text(&own.declaration, "name", &own.name);
                        taken.push(own.name.clone());
                    }
                    let first = chance.below(2) == 0;
                    let pair = if first {
                        [added(&copy), own]
                    } else {
                        [own, added(&copy)]
                    };
                    tools.extend(pair);
                }
                None => tools.push(kept(text, &tool.name)),
            },
        }
    }
    offered
}

const fn is_same_name(kind: Perturbation) -> bool {
    matches!(
        kind,
        Perturbation::ActionA
            | Perturbation::ActionB
            | Perturbation::ActionC
            | Perturbation::ActionD
            | Perturbation::ActionE
    )
}

fn kept(text: &str, name: &str) -> Offer {
    Offer {
        name: name.to_owned(),
        declaration: text.to_owned(),
        behind: Some(name.to_owned()),
        changed: false,
    }
}

fn added(tool: &Declaration) -> Offer {
    Offer {
        name: tool.name.clone(),
        declaration: tool.written(),
        behind: None,
        changed: true,
    }
}

fn told(description: &str, more: &str) -> String {
    let description = description.trim_end();
    match description.chars().next_back() {
        None => more.to_owned(),
        Some('.' | '!' | '?') => format!("{description} {more}"),
        Some(_) => format!("{description}. {more}"),
    }
}

fn free(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

/// Whose parameters a decoy takes: a tool that is no target, else another target,
/// with parameters that are not the same.
fn lender<'r>(
    read: &'r [Option<Declaration>],
    own: usize,
    is_target: &impl Fn(&Declaration) -> bool,
    chance: &mut Chance,
) -> Option<&'r Declaration> {
    let tool = read[own].as_ref()?;
    let others = read.iter().enumerate().filter(|(at, _)| *at != own);
    let usable: Vec<&Declaration> = others
        .filter_map(|(_, other)| other.as_ref())
        .filter(|other| other.name != tool.name)
        .filter(|other| !other.parameters().is_empty() && !same_schema(tool, other))
        .collect();
    let far: Vec<&Declaration> = usable.iter().copied().filter(|o| !is_target(o)).collect();
    let from = if far.is_empty() { usable } else { far };
    from.get(chance.below(from.len())).copied()
}

fn reworded(text: &str, tool: &Declaration, draw: &Draw<'_>) -> Offer {
    let kind = Perturbation::ObsToolDesc.as_str();
    let unit = format!("tool {}", tool.name);
    let other = paraphrased(
        &tool.description,
        Register::Description,
        draw,
        kind,
        &unit,
        1.0,
    );
    if other == tool.description {
        return kept(text, &tool.name);
    }
    Offer {
        declaration: with_text(text, "description", &other),
        changed: true,
        ..kept(text, &tool.name)
    }
}

fn parameters_reworded(text: &str, tool: &Declaration, draw: &Draw<'_>) -> Offer {
    let kind = Perturbation::ObsParamDesc.as_str();
    let declaration = with_parameter_descriptions(text, |at, old| {
        let unit = format!("tool {} parameter {at}", tool.name);
        paraphrased(old, Register::Description, draw, kind, &unit, 1.0)
    });
    Offer {
        changed: declaration != *text,
        declaration,
        ..kept(text, &tool.name)
    }
}
