//! Labels of a finished run; a probe's say what a repetition changed.

use super::answer::{Mark, Object, one_line};
use super::error::DualResult;
use super::run::Running;

/// Labels of an earlier run by which ours are not to be confused.
const OURS: &[&str] = &[
    "plan",
    "probe",
    "probe_tool",
    "probe_turn",
    "probe_index",
    "in_place",
    "in_place_state",
    "fresh",
    "fresh_state",
];

impl Running<'_> {
    /// Labels to slice by; a probe's say what a repetition changed.
    pub(super) async fn labels(&mut self) -> DualResult<(String, Option<String>)> {
        let mut labels = Object::default();
        if let Some(given) = &self.task.labels {
            let own: &[&str] = match &self.world.perturbation {
                Some(_) => &["perturbation", "perturbation_intensity"],
                None => &[],
            };
            let ours: Vec<&str> = OURS.iter().chain(own).copied().collect();
            labels.rest(&one_line(given), &ours);
        }
        labels
            .text("plan", &self.shared.plan.id())
            .opt_text("perturbation", self.world.perturbation.as_deref())
            .opt_text(
                "perturbation_intensity",
                self.world.perturbation_intensity.as_deref(),
            );
        let Some(position) = self.task.probed else {
            return Ok((labels.finish(), None));
        };
        let call = &self.task.calls[position];
        let mark = |at: usize| self.results.get(at)?.as_deref().map(Mark::of);
        let (first, again) = (mark(position), mark(position + 1));
        labels
            .text("probe", "idempotency")
            .text("probe_tool", &call.name)
            .raw("probe_turn", &call.turn.to_string())
            .raw("probe_index", &call.index.to_string());
        if let (Some(first), Some(again)) = (&first, &again) {
            labels
                .text("in_place", first.changed(again))
                .text("in_place_state", first.state(again));
        }
        let earlier = self.shared.ledger.mark(self.run).await?;
        let earlier: Option<Mark> = earlier.and_then(|text| serde_json::from_str(&text).ok());
        if let (Some(earlier), Some(first)) = (&earlier, &first) {
            labels
                .text("fresh", earlier.changed(first))
                .text("fresh_state", earlier.state(first));
        }
        let mark = first.and_then(|mark| serde_json::to_string(&mark).ok());
        Ok((labels.finish(), mark))
    }
}
