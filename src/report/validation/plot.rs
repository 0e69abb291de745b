//! Harm against decision gap, one mark per group.

use std::fmt::Write as _;

use crate::validate::{Group, Validation};

/// Width and height of the text plot, in characters.
const TEXT: (usize, usize) = (60, 15);

/// The mark of a group: its place among all.
pub(super) fn mark(place: usize) -> char {
    const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    MARKS.get(place).map_or('*', |&mark| char::from(mark))
}

/// A group that has both numbers, and its place.
struct Point<'g> {
    place: usize,
    group: &'g Group,
    harm: f64,
    gap: f64,
}

fn points(found: &Validation) -> Vec<Point<'_>> {
    let groups = found.groups.iter().enumerate();
    let points = groups.filter_map(|(place, group)| {
        let (harm, gap) = group.harm.zip(group.decision)?;
        Some(Point {
            place,
            group,
            harm,
            gap,
        })
    });
    points.collect()
}

/// The next round number: 1, 2 or 5 times a power of ten.
fn round_up(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(most.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|s| s * power >= most);
    step.unwrap_or(10.0) * power
}

fn ends(points: &[Point<'_>]) -> (f64, f64) {
    let most = |of: fn(&Point<'_>) -> f64| round_up(points.iter().map(of).fold(0.0, f64::max));
    (most(|p| p.harm), most(|p| p.gap))
}

/// The plot as lines: harm to the right, decision gap upwards.
pub(super) fn lines(found: &Validation) -> Vec<String> {
    let points = points(found);
    let (harm, gap) = ends(&points);
    let (width, height) = TEXT;
    let mut rows = vec![vec![' '; width]; height];
    for point in &points {
        let x = (point.harm / harm * (width - 1) as f64).round() as usize;
        let y = (point.gap / gap * (height - 1) as f64).round() as usize;
        let cell = &mut rows[height - 1 - y.min(height - 1)][x.min(width - 1)];
        // Two groups at one place.
        *cell = if *cell == ' ' { mark(point.place) } else { '+' };
    }
    let mut lines = Vec::with_capacity(height + 2);
    for (at, row) in rows.iter().enumerate() {
        let label = match at {
            0 => format!("{gap:.3}"),
            _ if at + 1 == height => "0".to_owned(),
            _ => String::new(),
        };
        let row: String = row.iter().collect();
        lines.push(format!("{label:>7} |{}", row.trim_end()));
    }
    lines.push(format!("{:>7} +{}", "", "-".repeat(width)));
    let right = format!("harm {harm:.3}");
    let room = width.saturating_sub(right.len() + 1);
    lines.push(format!("{:>7}  0{:room$}{right}", "", ""));
    lines
}

/// The plot as an SVG file.
#[must_use]
pub fn svg(found: &Validation) -> String {
    const WIDTH: f64 = 720.0;
    const HEIGHT: f64 = 480.0;
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 20.0;
    const TOP: f64 = 40.0;
    const BOTTOM: f64 = 60.0;

    let points = points(found);
    let (harm, gap) = ends(&points);
    let x = |value: f64| LEFT + value / harm * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / gap * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let rho = found
        .spearman_decision
        .map_or("unknown".to_owned(), |r| format!("{r:.3}"));
    let title = format!(
        "Harm and decision gap by {}: rank correlation {rho}",
        found.by.join(", ")
    );
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>",
        escaped(&title)
    );
    for step in 0..=5 {
        let part = f64::from(step) / 5.0;
        let (h, g) = (part * harm, part * gap);
        let _ = writeln!(
            out,
            "<line x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{h:.3}</text>",
            x(h),
            y(0.0),
            y(0.0) + 18.0
        );
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{g:.3}</text>",
            y(g),
            x(harm),
            LEFT - 8.0,
            y(g) + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">harm: right on sim, wrong on real</text>",
        x(harm / 2.0),
        HEIGHT - 16.0
    );
    let _ = writeln!(
        out,
        "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">decision gap</text>",
        y(gap / 2.0)
    );
    for point in &points {
        let (cx, cy) = (x(point.harm), y(point.gap));
        let fill = if point.group.floor {
            "white"
        } else {
            "#2b6cb0"
        };
        if let Some(se) = point.group.harm_se {
            let low = x((point.harm - se).max(0.0));
            let high = x((point.harm + se).min(harm));
            let _ = writeln!(
                out,
                "<line x1=\"{low:.1}\" y1=\"{cy:.1}\" x2=\"{high:.1}\" y2=\"{cy:.1}\" stroke=\"#90b4dc\"/>"
            );
        }
        let label = escaped(&point.group.label);
        let _ = writeln!(
            out,
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"#2b6cb0\"><title>{label}</title></circle>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{label}</text>",
            cx + 6.0,
            cy - 4.0
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A label as XML text; what XML forbids becomes a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_and_safe_labels() {
        assert_eq!([0.088, 0.1, 3.0, 0.0].map(round_up), [0.1, 0.1, 5.0, 1.0]);
        assert_eq!(escaped("<a&\u{1}\">"), "&lt;a&amp;?&quot;&gt;");
        assert_eq!([mark(0), mark(26), mark(999)], ['a', 'A', '*']);
    }
}
