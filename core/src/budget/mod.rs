//! Where real calls tell most: draws with known chances, what they say of every region,
//! and how many more each region needs (docs/budget.md).
//!
//! A *pool* holds the calls whose gap one may buy. A *round* buys some: evenly within each
//! region, without replacement, their number decided before the round by what earlier rounds
//! showed. A linear *surrogate* of what is known without a real call takes the part of the
//! variance away that it explains; it is fitted on other draws than those it corrects, so that
//! nothing here is biased, however bad the surrogate is.

mod allocate;
mod cell;
mod finish;
mod fit;
mod frame;
mod pool;
mod ppi;
mod replay;
mod rivals;
mod running;
mod target;

pub use allocate::{AIM, Objective, Outlook, Request, allocate, half_width, outlooks};
pub use cell::{Basis, Estimate, Estimates, Estimator, FEW, estimate, estimate_with};
pub use fit::Slopes;
pub use frame::{Drawn, Frame, Round};
pub use pool::{Pool, Synthetic, synthetic};
pub use ppi::{Ppi, ppi_mean};
pub use replay::{Cell, Method, Replay, replay};
pub use target::{Reached, calls_to_target};
