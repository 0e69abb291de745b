//! A validation for people: tables and a plot, as text; the plot as SVG.

mod batch;
mod live;
mod plot;
mod stored;
mod text;

pub use batch::batch;
pub use live::{batch as live_batch, draw as draw_live};
pub use plot::svg;
pub use stored::draw as draw_stored;
pub use text::draw;
