//! Order-free sums, ratio estimators, intervals.
