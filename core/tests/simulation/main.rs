//! Whole pipelines on invented worlds whose truth is known.
//!
//! The versions with 60 seeds run by default with wide tolerances; the figures
//! that docs may cite come from 500: `cargo test -p fidelake-core --test
//! simulation -- --ignored --nocapture`.

mod errors;
mod noise;
mod pipeline;
mod world;
