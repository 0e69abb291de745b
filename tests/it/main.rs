//! Integration tests: the program as a user runs it, and the lakes it leaves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod asking;
mod bad_input;
mod budget;
mod curate;
mod curate_refused;
mod curate_rules;
mod curation_report;
mod decision;
mod dual;
mod environments;
mod experience;
mod export;
#[cfg(feature = "failpoints")]
mod failpoints;
mod gap_engine;
mod generate;
mod incremental;
mod kills;
mod lake;
mod live;
mod masking;
mod monitor;
mod pages;
mod pairing;
mod patterns;
mod perturb;
mod predicted;
mod properties;
mod readers;
mod real_worlds;
mod record;
mod record_http;
mod records;
mod shared_data;
mod simulate;
mod sql_server;
mod structure;
mod support;
