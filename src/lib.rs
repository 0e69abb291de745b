//! fidelake
