//! What the manifest and the messages say of the rules.

use serde::{Deserialize, Serialize};

use super::weigh::Weighed;

/// The joint gate, as the manifest has it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct JointStrata {
    pub(super) strata: Vec<StratumFigures>,
    infeasible_rows: u64,
    rows_without_pass_rate: u64,
    /// All weights are divided by it.
    scale: f64,
}

/// A stratum of difficulty.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StratumFigures {
    pub(super) pass_rate_from: f64,
    pub(super) pass_rate_to: f64,
    pub(super) trajectories: usize,
    pub(super) rows: usize,
    pub(super) share: f64,
    pub(super) share_gate_alone: f64,
    pub(super) share_joint: f64,
    pub(super) factor: f64,
    pub(super) clipped: bool,
}

/// A hold-out file that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HoldoutFigures {
    pub(super) name: String,
    pub(super) tasks: usize,
    pub(super) blake3: String,
}

pub(super) fn joint_figures(weighed: &Weighed) -> Option<JointStrata> {
    let joint = weighed.joint.as_ref()?;
    let strata = joint.strata.iter().map(|s| StratumFigures {
        pass_rate_from: s.from,
        pass_rate_to: s.to,
        trajectories: s.trajectories,
        rows: s.rows,
        share: s.share,
        share_gate_alone: s.share_gated,
        share_joint: s.share_joint,
        factor: s.factor,
        clipped: s.clipped,
    });
    Some(JointStrata {
        strata: strata.collect(),
        infeasible_rows: joint.infeasible_rows,
        rows_without_pass_rate: joint.without_rate,
        scale: joint.scale,
    })
}

/// What people must know before they train on it.
pub(super) fn warnings(weighed: &Weighed) -> Vec<String> {
    let counts = &weighed.counts;
    let mut said = Vec::new();
    if let Some(why) = &weighed.gates.instead {
        said.push(format!("{why}. The quantile gate stands in its place"));
    }
    if counts.conflicting_verdicts > 0 {
        said.push(format!(
            "the judges of {} runs do not agree on success; [source] judge or [rewards] rule says who counts",
            counts.conflicting_verdicts
        ));
    }
    if counts.mixed_scale_groups > 0 {
        said.push(format!(
            "{} groups hold rewards up to 1 beside rewards above 10: their verdicts speak of different scales",
            counts.mixed_scale_groups
        ));
    }
    if counts.reward_assumed > 0 {
        said.push(format!(
            "{} runs without a verdict took the reward for missing ones",
            counts.reward_assumed
        ));
    }
    for rule in &counts.rules {
        said.extend(
            rule.idle
                .iter()
                .map(|part| format!("{}: {part}", rule.rule)),
        );
    }
    if weighed.rows.iter().all(|row| row.source == "unknown") {
        said.push("nothing is known of the fidelity of any row: `fidelake profile` needs trajectories that ran on both arms".to_owned());
    }
    if let Some(joint) = &weighed.joint {
        for s in joint.strata.iter().filter(|s| s.clipped) {
            said.push(format!(
                "the factor of the tasks with pass rates {:.2} to {:.2} hit its bound ({}): their share is {:.1} % instead of {:.1} %",
                s.from, s.to, s.factor, 100.0 * s.share_joint, 100.0 * s.share
            ));
        }
        if joint.infeasible_rows > 0 {
            said.push(format!(
                "{} rows have weight 0: the real world failed at their actions for a cause of its own",
                joint.infeasible_rows
            ));
        }
    }
    said
}
