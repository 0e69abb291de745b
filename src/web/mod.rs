//! What our small HTTP servers share: who may ask, connections, and when to stop.

mod accept;
mod end;
mod names;

pub(crate) use accept::{accept, finish};
pub(crate) use end::asked_to_end;
pub(crate) use names::{is_from_here, is_loopback, is_of_this_machine, names_this_machine};
