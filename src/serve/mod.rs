//! The lake for those who never open a terminal on it: SQL over the network.
