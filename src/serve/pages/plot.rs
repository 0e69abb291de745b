//! The plots of the overview. Each stands beside a table with its numbers.

use plotters::prelude::{
    Circle, Color as _, DrawingBackend, IntoDrawingArea as _, IntoFont as _, PathElement, RGBColor,
    Rectangle, SVGBackend, ShapeStyle, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, TextStyle};

use super::grid::Grid;
use crate::report::fit;

/// Width of a plot; the page scales it.
const WIDTH: i32 = 560;

/// Environments that are drawn, those with most trajectories; the table has all.
const MOST: usize = 6;

/// They can be told apart on white and on black, and each is named where it ends.
const COLOURS: [RGBColor; MOST] = [
    RGBColor(58, 128, 206),
    RGBColor(203, 116, 24),
    RGBColor(52, 148, 104),
    RGBColor(160, 106, 208),
    RGBColor(206, 84, 104),
    RGBColor(120, 128, 136),
];

/// Lines that help the eye.
const HELP: RGBColor = RGBColor(140, 148, 156);

type DrawError<'a> =
    plotters::drawing::DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The environments that are drawn, in the order of their names.
fn drawn(grid: &Grid) -> Vec<String> {
    let mut sizes: Vec<(f64, String)> = Vec::new();
    for row in 0..grid.rows {
        let Some(name) = grid.text(row, "environment") else {
            continue;
        };
        let count = grid.count(row, "trajectories");
        match sizes.iter_mut().find(|(_, known)| known == name) {
            Some((size, _)) => *size += count,
            None => sizes.push((count, name.to_owned())),
        }
    }
    sizes.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    sizes.truncate(MOST);
    let mut names: Vec<String> = sizes.into_iter().map(|(_, name)| name).collect();
    names.sort();
    names
}

fn label(size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
    ("sans-serif", size)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(h, v))
}

/// Fidelity by time as SVG; none if no environment has two times.
pub(super) fn over_time(grid: &Grid) -> Option<String> {
    let time = |row: usize| -> Option<f64> {
        let text = grid.text(row, "since")?;
        let time = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").ok()?;
        Some(time.and_utc().timestamp() as f64)
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = drawn(grid)
        .into_iter()
        .map(|name| {
            let rows = (0..grid.rows).filter(|&row| grid.text(row, "environment") == Some(&name));
            let points = rows.filter_map(|row| Some((time(row)?, grid.number(row, "fidelity")?)));
            (name.clone(), points.collect())
        })
        .collect();
    let times: Vec<f64> = lines.iter().flat_map(|l| l.1.iter().map(|p| p.0)).collect();
    let (first, last) = (
        times.iter().copied().fold(f64::INFINITY, f64::min),
        times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    if first >= last || !lines.iter().any(|(_, points)| points.len() > 1) {
        return None;
    }
    let mut out = String::new();
    draw_lines(&mut out, &lines, (first, last)).ok()?;
    Some(out)
}

fn draw_lines<'a>(
    out: &'a mut String,
    lines: &[(String, Vec<(f64, f64)>)],
    (first, last): (f64, f64),
) -> Result<(), DrawError<'a>> {
    const HEIGHT: i32 = 210;
    const LEFT: i32 = 34;
    const RIGHT: i32 = 112;
    const TOP: i32 = 10;
    const BOTTOM: i32 = 24;
    let area = SVGBackend::with_string(out, (WIDTH.unsigned_abs(), HEIGHT.unsigned_abs()))
        .into_drawing_area();
    let x = |t: f64| {
        LEFT + ((t - first) / (last - first) * f64::from(WIDTH - LEFT - RIGHT)).round() as i32
    };
    let y = |f: f64| TOP + ((1.0 - f) * f64::from(HEIGHT - TOP - BOTTOM)).round() as i32;
    let numbers = label(11, HPos::Right, VPos::Center);
    for (at, name) in [(0.0, "0"), (0.25, ""), (0.5, ".5"), (0.7, ".7"), (1.0, "1")] {
        let strong = if at == 0.7 { 1.0 } else { 0.35 };
        let style = HELP.mix(strong).stroke_width(1);
        area.draw(&PathElement::new(
            [(LEFT, y(at)), (WIDTH - RIGHT, y(at))],
            style,
        ))?;
        if !name.is_empty() {
            area.draw(&Text::new(name, (LEFT - 5, y(at)), numbers.clone()))?;
        }
    }
    for (t, side) in [(first, HPos::Left), (last, HPos::Right)] {
        let day = chrono::DateTime::from_timestamp(t as i64, 0);
        let day = day.map_or_else(String::new, |day| day.format("%Y-%m-%d").to_string());
        let place = (x(t), HEIGHT - BOTTOM + 8);
        area.draw(&Text::new(day, place, label(11, side, VPos::Top)))?;
    }
    // Names of lines that end near each other must not lie on each other.
    let mut taken: Vec<i32> = Vec::new();
    for ((name, points), colour) in lines.iter().zip(COLOURS) {
        let Some(end) = points.last() else { continue };
        let stroke: ShapeStyle = colour.stroke_width(2);
        let path: Vec<(i32, i32)> = points.iter().map(|p| (x(p.0), y(p.1))).collect();
        area.draw(&PathElement::new(path.clone(), stroke))?;
        for place in path {
            area.draw(&Circle::new(place, 3, colour.filled()))?;
        }
        let mut at = y(end.1);
        while taken.iter().any(|other| (other - at).abs() < 13) {
            at += 13;
        }
        taken.push(at);
        let left = WIDTH - RIGHT + 12;
        area.draw(&Rectangle::new(
            [(left - 6, at - 4), (left + 2, at + 4)],
            colour.filled(),
        ))?;
        let named = label(12, HPos::Left, VPos::Center);
        area.draw(&Text::new(fit(name, 14), (left + 7, at), named))?;
    }
    area.present()
}

/// Tenths of fidelity by environment as SVG: one row of columns each.
pub(super) fn spread(grid: &Grid) -> Option<String> {
    let rows: Vec<(String, [f64; 11])> = drawn(grid)
        .into_iter()
        .map(|name| {
            let mut bins = [0.0; 11];
            for row in 0..grid.rows {
                let place = grid.count(row, "place") as usize;
                if grid.text(row, "environment") == Some(&name)
                    && let Some(bin) = bins.get_mut(place)
                {
                    *bin = grid.count(row, "trajectories");
                }
            }
            (name, bins)
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut out = String::new();
    draw_spread(&mut out, &rows).ok()?;
    Some(out)
}

fn draw_spread<'a>(out: &'a mut String, rows: &[(String, [f64; 11])]) -> Result<(), DrawError<'a>> {
    const ROW: i32 = 64;
    const LEFT: i32 = 104;
    const BOTTOM: i32 = 20;
    const STEP: i32 = 37;
    const GAP: i32 = 26;
    let height = ROW * i32::try_from(rows.len()).unwrap_or(1) + BOTTOM;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let area = SVGBackend::with_string(out, size).into_drawing_area();
    let left = |bin: usize| {
        let bin = i32::try_from(bin).unwrap_or(0);
        LEFT + bin * STEP + if bin == 10 { GAP } else { 0 }
    };
    for (at, ((name, bins), colour)) in rows.iter().zip(COLOURS).enumerate() {
        let base = ROW * i32::try_from(at + 1).unwrap_or(1) - 4;
        let named = label(12, HPos::Right, VPos::Center);
        area.draw(&Text::new(
            fit(name, 14),
            (LEFT - 10, base - ROW / 2 + 8),
            named,
        ))?;
        let most = bins.iter().copied().fold(1.0, f64::max);
        for (bin, count) in bins.iter().enumerate() {
            let x = left(bin);
            area.draw(&PathElement::new(
                [(x, base), (x + STEP - 4, base)],
                HELP.stroke_width(1),
            ))?;
            if *count == 0.0 {
                continue;
            }
            let tall = ((count / most) * f64::from(ROW - 26)).round().max(1.0) as i32;
            let fill = if bin == 10 { HELP } else { colour };
            area.draw(&Rectangle::new(
                [(x, base - tall), (x + STEP - 4, base)],
                fill.filled(),
            ))?;
            let place = (x + STEP / 2 - 2, base - tall - 3);
            let number = label(10, HPos::Center, VPos::Bottom);
            area.draw(&Text::new(format!("{count:.0}"), place, number))?;
        }
    }
    for bin in 0..=10usize {
        let (text, place) = match bin {
            10 => ("unknown".to_owned(), left(10) + STEP / 2 - 2),
            0 => ("0".to_owned(), left(0)),
            bin => (format!(".{bin}"), left(bin) - 2),
        };
        let style = label(11, HPos::Center, VPos::Top);
        area.draw(&Text::new(text, (place, height - BOTTOM + 3), style))?;
    }
    let end = (left(9) + STEP - 2, height - BOTTOM + 3);
    area.draw(&Text::new("1", end, label(11, HPos::Center, VPos::Top)))?;
    area.present()
}
