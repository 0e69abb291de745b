//! What a curation did to the data: the same questions asked of all runs, of those
//! that are right by their labels, of those that became rows, and of these rows by
//! weight. As lines for a terminal and as one page that needs no other file.

mod load;
mod page;
mod plot;
mod text;

pub use load::{CurationError, Extent, load as load_curation};
pub use page::page as curation_page;
pub use text::{batch as curation_batch, draw as draw_curation};

/// Names of the four ways to weigh a run, with what they mean.
pub(super) const WAYS: [(&str, &str); 4] = [
    ("all", "every run of the arm"),
    (
        "right",
        "runs that went well by their labels, fidelity unseen",
    ),
    ("kept", "runs that the curation made rows of"),
    ("weighted", "the same rows, by fidelity weight"),
];

/// A number for each of [`WAYS`]; `None`: unknown, or there is nothing to weigh.
pub(super) type Ways = [Option<f64>; WAYS.len()];

/// One line of a part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) values: Ways,
}

/// Whether the lines of a part are means, or shares that add up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Means,
    Shares,
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) title: &'static str,
    /// What is shown, in a sentence: the first words of its query.
    pub(super) note: String,
    pub(super) kind: Kind,
    pub(super) lines: Vec<Line>,
    /// The query behind it.
    pub(super) sql: &'static str,
}

/// A rule of the recipe and the runs that it left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) runs: u64,
}

/// Everything that is shown of a curation.
#[derive(Clone, Debug)]
pub struct Curation {
    pub(super) id: String,
    pub(super) lake_version: i64,
    pub(super) arm: String,
    pub(super) judge: Option<String>,
    pub(super) recipe: String,
    pub(super) manifest: serde_json::Value,
    pub(super) counts: Vec<Rule>,
    /// Runs by the four ways; the last is what the weights are worth.
    pub(super) runs: Ways,
    pub(super) parts: Vec<Part>,
}
