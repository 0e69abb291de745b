//! The report as one page: no script, nothing that is loaded from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::plot::{COLOURS, bars};
use super::{Curation, Kind, Part, WAYS};

/// Light and dark, wide and narrow. Texts of a plot take the page's colour.
const STYLE: &str = "
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p.note { margin-top: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .5rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dd { margin: 0; overflow-wrap: anywhere; }
pre { overflow-x: auto; background: var(--soft); padding: .75rem; }
figure { margin: 1rem 0; overflow-x: auto; } svg { max-width: 100%; height: auto; } svg text { fill: currentColor; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
details { margin-top: .5rem; } summary { cursor: pointer; }
";

/// The page.
#[must_use]
pub fn page(curation: &Curation) -> String {
    let manifest = &curation.manifest;
    let name = manifest["name"].as_str().unwrap_or("Curation");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Curation " (short(&curation.id)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (name) " " code { (short(&curation.id)) } }
                    p { "What the recipe did to the data, before and after." }
                    (facts(curation))
                    (legend())
                    (table(&[("runs".to_owned(), curation.runs)], Kind::Means, 0))
                    p.note { "The last number is what the weights are worth: so many runs of equal weight." }
                    @for part in &curation.parts { (section(part)) }
                    (checks(curation))
                    (rules(curation))
                    h2 { "Recipe" }
                    pre tabindex="0" { code { (curation.recipe) } }
                }
            }
        }
    }
    .into_string()
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn facts(curation: &Curation) -> Markup {
    let manifest = &curation.manifest;
    let number = |value: &serde_json::Value| {
        value
            .as_f64()
            .map_or_else(|| "unknown".to_owned(), |x| format!("{x:.4}"))
    };
    let gate = manifest["gate"]["kind"].as_str().unwrap_or("unknown");
    html! {
        dl {
            dt { "Lake version" } dd { (curation.lake_version) }
            dt { "Arm" } dd { (curation.arm) }
            dt { "Judge" } dd { (curation.judge.as_deref().unwrap_or("several")) }
            dt { "Gate" } dd { (gate) }
            dt { "Share of weight moved" } dd { (number(&manifest["weight_moved"])) }
            dt { "Weight scale" } dd { (number(&manifest["weight_scale"])) }
            @if let Some(sources) = manifest["weight_by_profile_source"].as_object() {
                dt { "Weight stands on" }
                dd {
                    @for (at, (source, share)) in sources.iter().enumerate() {
                        @if at > 0 { ", " }
                        (source) " " (percent(share.as_f64()))
                    }
                }
            }
        }
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", x * 100.0))
}

fn legend() -> Markup {
    html! {
        ul.legend {
            @for ((name, means), c) in WAYS.into_iter().zip(COLOURS) {
                li {
                    i style=(format!("background: rgb({}, {}, {})", c.0, c.1, c.2)) {}
                    b { (name) } ": " (means)
                }
            }
        }
    }
}

fn section(part: &Part) -> Markup {
    let lines: Vec<(String, super::Ways)> = part
        .lines
        .iter()
        .map(|line| (line.label.clone(), line.values))
        .collect();
    html! {
        section {
            h2 { (part.title) }
            p.note { (part.note) }
            figure role="img" aria-label=(format!("{}: the numbers of the table below as bars", part.title)) {
                (PreEscaped(bars(&part.lines)))
            }
            (table(&lines, part.kind, 3))
            details {
                summary { "SQL" }
                pre tabindex="0" { code { (part.sql) } }
            }
        }
    }
}

fn table(lines: &[(String, super::Ways)], kind: Kind, digits: usize) -> Markup {
    let show = |value: Option<f64>| match (value, kind) {
        (None, _) => "-".to_owned(),
        (value, Kind::Shares) => percent(value),
        (Some(value), Kind::Means) => format!("{value:.digits$}"),
    };
    html! {
        table {
            thead {
                tr { th scope="col" { } @for (name, _) in WAYS { th scope="col" { (name) } } }
            }
            tbody {
                @for (label, values) in lines {
                    tr { th scope="row" { (label) } @for value in values { td { (show(*value)) } } }
                }
            }
        }
    }
}

/// How good the predictions are that part of the weight stands on.
fn checks(curation: &Curation) -> Markup {
    let checks = curation.manifest["predictions_held_back"].as_object();
    let Some(checks) = checks.filter(|checks| !checks.is_empty()) else {
        return html! {};
    };
    let number = |value: &serde_json::Value| {
        let value = value.as_f64();
        value.map_or_else(|| "-".to_owned(), |x| format!("{x:.4}"))
    };
    html! {
        h2 { "Predictions, checked" }
        p.note {
            "Gaps of trajectories that ran on both arms, each predicted from the calls of other tasks only. \
             Beside it the error of taking the mean of all of them."
        }
        table {
            thead {
                tr {
                    th scope="col" { }
                    @for name in ["trajectories", "mean error", "of the mean", "bias", "spread", "correlation"] {
                        th scope="col" { (name) }
                    }
                }
            }
            tbody {
                @for (name, check) in checks {
                    tr {
                        th scope="row" { (name) }
                        td { (check["trajectories"]) }
                        @for name in ["mean_error", "mean_error_of_mean", "bias", "spread", "correlation"] {
                            td { (number(&check[name])) }
                        }
                    }
                }
            }
        }
    }
}

fn rules(curation: &Curation) -> Markup {
    html! {
        h2 { "Counts" }
        table {
            tbody {
                @for rule in &curation.counts {
                    tr { th scope="row" { (rule.name) } td { (rule.runs) } }
                }
            }
        }
    }
}
