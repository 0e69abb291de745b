//! fidelake: a data lake and curation engine for the tool-call trajectories
//! that train agents.
//!
//! Data flows through the modules in the order below; imports only point back.

pub mod cli;
pub mod curate;
pub mod engine;
pub mod formats;
pub mod import;
pub mod lake;
pub mod report;
