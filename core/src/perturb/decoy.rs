//! Tools that stand beside the right one without doing its work.

use crate::json::{canonical, push_json_string};
use crate::stats::Chance;

use super::abbreviate::{named, words};
use super::declaration::{Declaration, NO_PARAMETERS};
use super::kind::Perturbation;

/// A second tool of the same name; `None` if no other tool has parameters to lend.
pub(super) fn same_name(
    kind: Perturbation,
    tool: &Declaration,
    other: Option<&Declaration>,
) -> Option<Declaration> {
    let (own, empty) = (tool.description.clone(), String::new());
    let (description, schema) = match kind {
        Perturbation::ActionA => (empty, None),
        Perturbation::ActionB => (own, None),
        Perturbation::ActionC => (empty, Some(other?)),
        Perturbation::ActionD => (own, Some(other?)),
        _ => (other?.description.clone(), Some(other?)),
    };
    Some(Declaration {
        name: tool.name.clone(),
        description,
        schema: schema.map_or_else(|| Some(NO_PARAMETERS.to_owned()), |of| of.schema.clone()),
        schema_key: tool.schema_key,
    })
}

/// What a related tool is about: a word of its name, what it says, a parameter of its own.
struct Related {
    word: &'static str,
    says: &'static str,
    parameter: (&'static str, &'static str),
}

const RELATED: [Related; 8] = [
    Related {
        word: "history",
        says: "Lists earlier requests on the subject of",
        parameter: ("since", "Only requests after this date"),
    },
    Related {
        word: "template",
        says: "Gives an empty form for a request of the kind",
        parameter: ("language", "Language of the form"),
    },
    Related {
        word: "validate",
        says: "Tests whether input would be accepted by the likes of",
        parameter: ("strict", "How strictly to test"),
    },
    Related {
        word: "statistics",
        says: "Counts how often people make a request of the kind",
        parameter: ("period", "Period to count over"),
    },
    Related {
        word: "subscribe",
        says: "Asks for a message whenever something changes in the area of",
        parameter: ("channel", "Where to send the message"),
    },
    Related {
        word: "archive",
        says: "Puts old records away that belong to the area of",
        parameter: ("older_than", "Age from which records are put away"),
    },
    Related {
        word: "settings",
        says: "Shows the settings that apply to",
        parameter: ("scope", "Whose settings to show"),
    },
    Related {
        word: "permissions",
        says: "Says who may make a request of the kind",
        parameter: ("role", "Role to ask about"),
    },
];

/// One or two tools on the same subject that do something else, with a part of its parameters.
pub(super) fn related(
    tool: &Declaration,
    taken: &[String],
    chance: &mut Chance,
) -> Vec<Declaration> {
    let parts = words(&tool.name);
    let subject: Vec<String> = parts
        .iter()
        .skip(usize::from(parts.len() > 1))
        .cloned()
        .collect();
    let spoken = if parts.is_empty() {
        tool.name.clone()
    } else {
        parts.join(" ")
    };
    let count = 1 + chance.below(2);
    let begin = chance.below(RELATED.len());
    let mut made: Vec<Declaration> = Vec::new();
    // Neighbours in the list differ, so that two are never the same.
    for step in 0..RELATED.len() {
        if made.len() == count {
            break;
        }
        let of = &RELATED[(begin + step * 3) % RELATED.len()];
        let mut name = subject.clone();
        name.push(of.word.to_owned());
        let name = named(&tool.name, &name);
        if taken.contains(&name) {
            continue;
        }
        made.push(Declaration {
            name,
            description: format!("{} '{spoken}'.", of.says),
            schema: Some(schema(tool, of)),
            schema_key: tool.schema_key,
        });
    }
    made
}

/// The first half of the tool's parameters, and one of its own.
fn schema(tool: &Declaration, of: &Related) -> String {
    let parameters = tool.parameters();
    let half = parameters.len().div_ceil(2);
    let mut out = String::from(r#"{"type":"object","properties":{"#);
    for (name, schema) in parameters.iter().take(half) {
        if name == of.parameter.0 {
            continue;
        }
        push_json_string(name, &mut out);
        out.push(':');
        out.push_str(schema);
        out.push(',');
    }
    push_json_string(of.parameter.0, &mut out);
    out.push_str(r#":{"type":"string","description":"#);
    push_json_string(of.parameter.1, &mut out);
    out.push_str("}}}");
    out
}

/// Whether two schemas accept the same, as far as their text says.
pub(super) fn same_schema(left: &Declaration, right: &Declaration) -> bool {
    let form = |of: &Declaration| {
        let schema = of.schema.as_deref().unwrap_or(NO_PARAMETERS);
        crate::json::Doc::parse(schema)
            .map_or_else(|_| schema.to_owned(), |doc| canonical(doc.root()).0)
    };
    form(left) == form(right)
}

/// What a tool says of its use, and its copy of itself; the name of the copy.
pub(super) struct Metadata {
    pub(super) own: &'static str,
    pub(super) copy: &'static str,
    pub(super) suffix: &'static str,
    pub(super) abbreviates: bool,
}

/// Of a reward perturbation.
pub(super) const fn metadata(kind: Perturbation) -> Option<Metadata> {
    const COST: (&str, &str) = ("Cost: $0.01 per call.", "Cost: $0.15 per call.");
    const TIME: (&str, &str) = (
        "Response time: about 50 ms.",
        "Response time: about 2100 ms.",
    );
    let ((own, copy), suffix, abbreviates) = match kind {
        Perturbation::RewardCd => (COST, "_Budget", false),
        Perturbation::RewardTd => (TIME, "_Fast", false),
        Perturbation::RewardCdNt => (COST, "_1", false),
        Perturbation::RewardTdNt => (TIME, "_1", false),
        Perturbation::RewardCdAb => (COST, "_1", true),
        Perturbation::RewardTdAb => (TIME, "_1", true),
        _ => return None,
    };
    Some(Metadata {
        own,
        copy,
        suffix,
        abbreviates,
    })
}
