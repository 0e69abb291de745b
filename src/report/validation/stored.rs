//! Stored weights of the dimensions, for people.

use std::fmt::Write as _;

use serde_json::Value;

use super::text::number;
use crate::engine::Evidence;
use crate::report::screen::safe;

/// One paragraph for each, the newest last.
#[must_use]
pub fn draw(all: &[Evidence]) -> String {
    let mut out = String::new();
    for one in all {
        let found = &one.found;
        let fitted = &found["fitted"];
        let list = |of: &Value| -> String {
            let names = of
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            safe(&names.collect::<Vec<_>>().join(", ")).into_owned()
        };
        let weights = fitted["weights"].as_object().into_iter().flatten();
        let weights: Vec<String> = weights
            .map(|(name, weight)| format!("{} {}", safe(name), number(weight.as_f64())))
            .collect();
        let _ = writeln!(
            out,
            "{}  {}  on lake version {}",
            one.artefact_id, one.time, one.from_version
        );
        let _ = writeln!(
            out,
            "  weights {}; bias {}, lambda {}",
            weights.join(", "),
            number(fitted["bias"].as_f64()),
            fitted["lambda"]
        );
        let _ = writeln!(
            out,
            "  each group predicted without itself: rho {}; without its family: {}; as it is defined, unfitted: {}",
            number(fitted["leave_one_out"].as_f64()),
            number(fitted["leave_one_family_out"].as_f64()),
            number(found["spearman_decision"].as_f64())
        );
        let _ = writeln!(
            out,
            "  groups by {}: {}",
            list(&found["by"]),
            list(&fitted["groups"])
        );
        let _ = writeln!(out, "  families: {}", list(&fitted["families"]));
        let _ = writeln!(out, "  agents: {}", list(&found["agents"]));
    }
    out.trim_end().to_owned()
}
