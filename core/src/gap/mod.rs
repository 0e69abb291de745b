//! Distances between what two worlds answered.
