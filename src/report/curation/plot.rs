//! One plot per part: a group of bars per line, one bar per way of weighing.

use plotters::prelude::{
    Color as _, DrawingBackend, IntoDrawingArea as _, IntoFont as _, RGBColor, Rectangle,
    SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, IntoTextStyle as _};

use super::{Line, WAYS};

/// Width of a plot; the page scales it.
const WIDTH: u32 = 720;
/// Room for the names of the lines.
const NAMES: i32 = 190;
/// Room for the numbers behind the bars.
const NUMBERS: i32 = 52;
/// Thickness of a bar.
const BAR: i32 = 7;
/// Space between the groups.
const SPACE: i32 = 8;
/// Letters of a name that fit.
const LETTERS: usize = 30;

/// The colours of the four ways: grey for what was there, then one family for what
/// the curation made of it. They differ in lightness too.
pub(super) const COLOURS: [RGBColor; WAYS.len()] = [
    RGBColor(150, 150, 150),
    RGBColor(214, 137, 16),
    RGBColor(133, 178, 229),
    RGBColor(31, 95, 168),
];

type DrawError<'a> =
    plotters::drawing::DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The plot of these lines as SVG; empty if there is nothing to draw.
pub(super) fn bars(lines: &[Line]) -> String {
    let known = lines.iter().flat_map(|line| line.values).flatten();
    let most = known.fold(0.0_f64, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let group = BAR * WAYS.len() as i32 + SPACE;
    let height = SPACE + group * i32::try_from(lines.len()).unwrap_or(0);
    let size = (WIDTH, u32::try_from(height).unwrap_or(1));
    let mut out = String::new();
    match draw(&mut out, lines, most, size) {
        Ok(()) => out,
        // Drawing into a text does not fail; a page without a plot has its table.
        Err(_) => String::new(),
    }
}

fn draw<'a>(
    out: &'a mut String,
    lines: &[Line],
    most: f64,
    size: (u32, u32),
) -> Result<(), DrawError<'a>> {
    let area = SVGBackend::with_string(out, size).into_drawing_area();
    let names = ("sans-serif", 12)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(HPos::Right, VPos::Center));
    let numbers = ("sans-serif", 9)
        .into_text_style(&area)
        .pos(Pos::new(HPos::Left, VPos::Center));
    let room = f64::from(i32::try_from(WIDTH).unwrap_or(0) - NAMES - NUMBERS);
    let mut top = SPACE;
    for line in lines {
        let middle = top + BAR * WAYS.len() as i32 / 2;
        let name = crate::report::fit(&crate::report::safe(&line.label), LETTERS);
        area.draw(&Text::new(name, (NAMES - 8, middle), names.clone()))?;
        for (value, colour) in line.values.iter().zip(COLOURS) {
            if let Some(value) = value {
                let right = NAMES + (value / most * room).round() as i32;
                let bar = [(NAMES, top), (right, top + BAR - 1)];
                area.draw(&Rectangle::new(bar, colour.filled()))?;
                let at = (right + 4, top + BAR / 2);
                area.draw(&Text::new(format!("{value:.3}"), at, numbers.clone()))?;
            }
            top += BAR;
        }
        top += SPACE;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_lengths_and_labels_stay_text() {
        let lines = [
            Line {
                label: "<script>".to_owned(),
                values: [Some(1.0), Some(0.5), None, Some(0.0)],
            },
            Line {
                label: "b".to_owned(),
                values: [None; 4],
            },
        ];
        let svg = bars(&lines);
        assert!(
            svg.contains("&lt;script&gt;") && !svg.contains("<script"),
            "{svg}"
        );
        assert!(
            svg.contains("width=\"478\"") && svg.contains("width=\"239\""),
            "{svg}"
        );
        assert_eq!(bars(&lines[1..]), "");
    }
}
