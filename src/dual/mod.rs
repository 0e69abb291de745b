//! The same calls in both arms: how they get recorded.

pub mod record;
