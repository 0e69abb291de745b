//! What a call and its answer are.
