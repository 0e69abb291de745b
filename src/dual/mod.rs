//! The same calls in both arms: what to run, safely, within a budget, through
//! any kill (docs/dual.md).
//!
//! A plan becomes a list of runs that is written down once. Before a call is
//! sent, one transaction counts it against the budget and keeps what will be
//! sent; after it, one keeps the answer. Finished runs go into the lake in
//! batches, through the import, and their payloads leave the journal.

pub mod agents;
mod answer;
mod behind;
mod campaign;
mod dry;
mod error;
mod fold;
mod forget;
mod holder;
mod jobs;
mod journal;
mod labels;
mod lake_tasks;
mod ledger;
mod limits;
mod lines;
mod permission;
mod plan;
mod plan_arm;
mod plan_file;
mod rebind;
pub mod record;
mod run;
mod runner;
mod schedule;
mod select;
mod shared;
mod status;
mod tables;
mod task;
mod wrong;

pub use campaign::{Campaign, CampaignRound, campaign};
pub use dry::{DryCall, DryRun, dry_run};
pub use error::{DualError, DualResult};
pub use forget::forget;
pub use permission::Refused;
pub use plan::{Plan, Switches, is_name};
pub use runner::{Report, run};
pub use status::{ArmStatus, Doubt, PlanStatus, status};
