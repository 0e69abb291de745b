//! Tests of the whole program.

mod curate;
