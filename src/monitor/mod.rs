//! Drift in a running training (docs/monitor.md): observations come in over HTTP, from standard
//! input or out of a lake; charts of `fidelake_core::monitor` judge them; a trainer asks before each step.

mod action;
mod desk;
mod error;
mod http;
mod look;
mod pool;
mod store;
mod tail;
mod token;
mod totals;
mod view;

pub use action::{Actions, check_webhook};
pub use desk::{Chosen, Desk, Paused, Receipt, Refused, Settings};
pub use error::{MonitorError, MonitorResult};
pub use http::{Server, Shared};
pub use look::{Seen, look};
pub use pool::Pool;
pub use tail::Tail;
pub use token::Token;
pub use totals::Totals;
