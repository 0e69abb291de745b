//! What the probe agent takes for granted.

/// The constants of the probe, all of them. There is none per environment, per kind
/// of change or per data set.
///
/// They were chosen before the gap was compared with harm in this program;
/// docs/validation.md says on which data, and what other values would have given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeConstants {
    /// Weight of the cosine of task and tool name.
    pub name: f64,
    /// Weight of the cosine of task and description.
    pub description: f64,
    /// Weight of the cosine of task and parameter names.
    pub parameters: f64,
    /// Added to the score of a tool that has parameters: an agent that has values
    /// in hand does not choose a tool which takes none.
    pub has_parameters: f64,
    /// Scores are divided by it before the softmax; the smaller, the surer the pick.
    pub temperature: f64,
}

impl Default for ProbeConstants {
    fn default() -> Self {
        Self {
            name: 1.0,
            description: 1.0,
            parameters: 2.0,
            has_parameters: 0.3,
            temperature: 0.15,
        }
    }
}
