//! Tests of the whole program.

mod asking;
