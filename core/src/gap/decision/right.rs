//! The calls that are right, and what makes a pick right.

use super::ground::Leaves;
use super::mix::{Dimension, Mix};
use super::pair::Pair;
use crate::json::{Doc, Kind};

/// A call that is right: of the gold calls, or of a run that went well.
#[derive(Clone, Copy, Debug, Default)]
pub struct RightCall<'c> {
    /// Tool name and arguments (JSON) in sim.
    pub sim: (&'c str, &'c str),
    /// The same in real, where its own answer is known; else those of sim hold.
    pub real: Option<(&'c str, &'c str)>,
    /// Before which turn of the sim run it is made, and of the real run; `None`:
    /// before anything was answered.
    pub turns: [Option<i32>; 2],
}

/// A right call, read.
#[derive(Debug)]
pub(super) struct Right {
    names: [String; 2],
    /// With which dimension the name changes from that of sim to that of real.
    switch: Dimension,
    /// Keys of the arguments, sim and real.
    keys: [Vec<String>; 2],
    pub(super) leaves: [Leaves; 2],
    pub(super) turns: [Option<i32>; 2],
}

impl Right {
    pub(super) fn read(call: &RightCall<'_>, pair: &Pair) -> Self {
        let keys = keys(call.sim.1);
        let meant = pair.meant(call.sim.0, &keys);
        let partner = meant.and_then(|tool| tool.in_real());
        let name = match call.real {
            Some((name, _)) => name,
            None => partner.unwrap_or(call.sim.0),
        };
        let arguments = call.real.map_or(call.sim.1, |(_, arguments)| arguments);
        Self {
            names: [call.sim.0.to_owned(), name.to_owned()],
            // A tool that real lacks, or has under a name of its own, goes with `act`.
            switch: match partner {
                Some(_) => Dimension::Rew,
                None => Dimension::Act,
            },
            keys: [keys, self::keys(arguments)],
            leaves: [call.sim.1, arguments].map(Leaves::read),
            turns: call.turns,
        }
    }

    /// The probability of a right pick: of the tools with the right name that take
    /// the arguments.
    pub(super) fn picked(&self, pair: &Pair, mix: Mix, picks: &[f64]) -> f64 {
        let name = &self.names[mix.arm(self.switch)];
        let keys = &self.keys[mix.arm(Dimension::Act)];
        let right = pair.offered(mix).zip(picks).filter(|(tool, _)| {
            tool.name == name && keys.iter().all(|key| tool.parameters.contains(key))
        });
        right.map(|(_, pick)| pick).sum()
    }
}

/// Keys of the arguments, at the top.
fn keys(arguments: &str) -> Vec<String> {
    let Ok(doc) = Doc::parse(arguments) else {
        return Vec::new();
    };
    match doc.root().kind() {
        Kind::Object => doc
            .root()
            .entries()
            .map(|(key, _)| key.to_owned())
            .collect(),
        _ => Vec::new(),
    }
}
