//! fidelake: a data lake and curation engine for the tool-call trajectories
//! that train agents.
//!
//! Data flows through the modules in this order, and imports only point up it:
//! `formats`, `lake`, `import`, `engine`, `web`, `env`, `dual`, `estimate`, `validate`,
//! `patterns`, `curate`, `randomize`, `report`, `simulate`, `monitor`, `serve`, `cli`.

pub mod cli;
pub mod curate;
pub mod dual;
pub mod engine;
pub mod env;
pub mod estimate;
pub mod formats;
pub mod import;
pub mod lake;
pub mod monitor;
pub mod patterns;
pub mod randomize;
pub mod report;
pub mod serve;
pub mod simulate;
pub mod validate;
mod web;
