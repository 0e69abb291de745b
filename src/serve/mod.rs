//! The lake for those who never open a terminal on it: pages for a browser.

mod pages;

pub use pages::{PageError, PageResult, Pages, report};
