//! A validation for people: tables and a plot, as text; the plot as SVG.

mod batch;
mod plot;
mod text;

pub use batch::batch;
pub use plot::svg;
pub use text::draw;
