//! The tables, as text.

use std::fmt::Write as _;

use super::plot::{lines, mark};
use crate::report::screen::{padded, safe};
use crate::validate::{LeftOut, Ordering, Validation};

/// So wide are labels at most.
const LABEL: usize = 28;

pub(super) fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

pub(super) fn range(interval: Option<[f64; 2]>) -> String {
    interval.map_or("unknown".to_owned(), |[low, high]| {
        format!("{low:.3} .. {high:.3}")
    })
}

pub(super) fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells
            .chain([head[at].chars().count()])
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate() {
            // Names to the left, numbers to the right.
            match at {
                0 => line.push_str(&padded(cell, widths[0])),
                _ => {
                    let _ = write!(line, "  {cell:>0$}", widths[at]);
                }
            }
        }
        line.trim_end().to_owned()
    };
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let _ = writeln!(out, "{}", line(&head));
    for row in rows {
        let _ = writeln!(out, "{}", line(row));
    }
}

/// All of a validation: groups, correlations, rivals, pairs, plot.
#[must_use]
pub fn draw(found: &Validation) -> String {
    let mut out = String::new();
    groups(&mut out, found);
    out.push('\n');
    out.push_str(&lines(found).join("\n"));
    out.push_str("\n\n");
    correlations(&mut out, found);
    out.push('\n');
    rivals(&mut out, found);
    out.push('\n');
    left_out(&mut out, found);
    if !found.ordering.is_empty() {
        ordering(&mut out, &found.ordering);
        out.push('\n');
    }
    pairs(&mut out, found);
    out.trim_end().to_owned()
}

fn groups(out: &mut String, found: &Validation) {
    let head = [
        "group", "n", "harm", "se", "net", "decision", "surface", "obs", "act", "rew", "trans",
    ];
    let rows: Vec<Vec<String>> = found
        .groups
        .iter()
        .enumerate()
        .map(|(at, group)| {
            let label: String = safe(&group.label).chars().take(LABEL).collect();
            let floor = if group.floor { " (floor)" } else { "" };
            let mut row = vec![format!("{} {label}{floor}", mark(at)), group.n.to_string()];
            row.extend(
                [
                    group.harm,
                    group.harm_se,
                    group.net,
                    group.decision,
                    group.surface,
                    group.obs,
                    group.act,
                    group.rew,
                    group.trans,
                ]
                .map(number),
            );
            row
        })
        .collect();
    table(out, &head, &rows);
    let _ = writeln!(
        out,
        "harm: right on sim, wrong on real; net: success on sim less on real. {} agents, {} tasks, {} of them in every group",
        found.agents.len(),
        found.items,
        found.items_in_all_groups
    );
    let sources = found.gold_source.iter();
    let sources: Vec<String> = sources.map(|(name, n)| format!("{name} {n}")).collect();
    let _ = writeln!(out, "right calls from: {}", sources.join(", "));
    if !found.floor.groups.is_empty() {
        let names: Vec<_> = found.floor.groups.iter().map(|name| safe(name)).collect();
        let _ = writeln!(
            out,
            "floor: both arms are equal in {}; what agents lose there by running again is {}",
            names.join(", "),
            number(found.floor.harm)
        );
    }
}

fn correlations(out: &mut String, found: &Validation) {
    let _ = writeln!(
        out,
        "rank correlation with harm over {} groups",
        found.leave_one_out.len()
    );
    let _ = writeln!(
        out,
        "  decision gap  {}  (95 %: {} over items, {} over groups; tau {})",
        number(found.spearman_decision),
        range(found.spearman_decision_interval),
        range(found.spearman_decision_interval_groups),
        number(found.kendall_decision)
    );
    let _ = writeln!(
        out,
        "  surface gap   {}  (95 %: {} over items; tau {})",
        number(found.spearman_surface),
        range(found.spearman_surface_interval),
        number(found.kendall_surface)
    );
    let parts = &found.dimensions;
    let _ = writeln!(
        out,
        "  obs {}, act {}, rew {}, trans {}",
        number(parts.obs),
        number(parts.act),
        number(parts.rew),
        number(parts.trans)
    );
    let _ = writeln!(
        out,
        "  decision gap, every trajectory floored for itself  {}",
        number(found.spearman_decision_floored_each)
    );
    if !found.floor.groups.is_empty() {
        let _ = writeln!(
            out,
            "  decision gap with the groups of the floor  {}",
            number(found.spearman_decision_with_floor)
        );
    }
    let ceiling = &found.ceiling;
    let _ = writeln!(
        out,
        "agents among each other: {} (pairs {}); one against all others: {}",
        number(ceiling.between_agents),
        range(ceiling.between_agents_range),
        number(ceiling.one_against_others)
    );
    for (agent, rho) in &ceiling.decision_by_agent {
        let _ = writeln!(out, "  decision gap and {}  {}", safe(agent), number(*rho));
    }
}

fn rivals(out: &mut String, found: &Validation) {
    let rows: Vec<Vec<String>> = found
        .rivals
        .iter()
        .map(|rival| {
            let best = found.best_rival.as_ref() == Some(&rival.name);
            vec![
                format!("{}{}", rival.name, if best { " (best)" } else { "" }),
                number(rival.spearman),
                range(rival.interval),
                number(rival.difference),
                range(rival.difference_interval),
            ]
        })
        .collect();
    let head = ["rival", "rho", "95 %", "decision less rival", "95 %"];
    table(out, &head, &rows);
}

fn left_out(out: &mut String, found: &Validation) {
    let lowest = |list: &[LeftOut]| {
        let known = list
            .iter()
            .filter_map(|l| Some((l.spearman_decision?, l.left_out.clone())));
        known.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    if let Some((rho, name)) = lowest(&found.leave_one_out) {
        let _ = writeln!(
            out,
            "leaving out one group: lowest decision rho {rho:.3}, without {}",
            safe(&name)
        );
    }
    for family in &found.leave_one_family_out {
        let _ = writeln!(
            out,
            "leaving out family {}: decision {}, surface {}",
            safe(&family.left_out),
            number(family.spearman_decision),
            number(family.spearman_surface)
        );
    }
    if let Some(fitted) = &found.fitted {
        let weights = fitted.weights.iter();
        let weights: Vec<String> = weights.map(|(name, w)| format!("{name} {w:.3}")).collect();
        let _ = writeln!(
            out,
            "fitted weights: {}; bias {:.4}, lambda {}; each group predicted without itself: rho {}; without its family: {}",
            weights.join(", "),
            fitted.bias,
            fitted.lambda,
            number(fitted.leave_one_out),
            number(fitted.leave_one_family_out)
        );
    }
    out.push('\n');
}

/// The dimensions beside what the paper reports.
pub(super) fn ordering(out: &mut String, rows: &[Ordering]) {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let paper = format!("{:.0} %", 100.0 * row.paper);
            let below = if row.dimension == "obs" { "< " } else { "" };
            vec![
                row.dimension.clone(),
                row.kinds.to_string(),
                row.drop
                    .map_or("-".to_owned(), |drop| format!("{:.1} %", 100.0 * drop)),
                number(row.harm),
                number(row.gap),
                format!("{below}{paper}"),
            ]
        })
        .collect();
    let head = ["dimension", "kinds", "success lost", "harm", "gap", "paper"];
    table(out, &head, &rows);
    let _ = writeln!(
        out,
        "paper: what 21 models lost in \"When Simulation Lies\" (2026), other tasks and other agents; nothing is fitted to it"
    );
}

fn pairs(out: &mut String, found: &Validation) {
    let auc = &found.auc;
    let _ = writeln!(
        out,
        "single pairs (trajectory, agent) right on sim: {}, of them {} wrong on real; AUC of the decision gap {}, of the surface gap {}",
        auc.pairs,
        auc.broken,
        number(auc.decision),
        number(auc.surface)
    );
    let rows: Vec<Vec<String>> = found
        .reliability
        .iter()
        .map(|bin| {
            vec![
                format!("{:.4} .. {:.4}", bin.from, bin.to),
                format!("{:.4}", bin.gap),
                bin.pairs.to_string(),
                bin.broken.to_string(),
                format!("{:.3}", bin.harm),
            ]
        })
        .collect();
    table(
        out,
        &["decision gap", "mean", "pairs", "broken", "harm"],
        &rows,
    );
}
