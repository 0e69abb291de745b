//! Probes around recorded calls.

use std::collections::{BTreeMap, BTreeSet};

use fidelake_core::json::Doc;
use fidelake_core::json::key::{Key, call_key};
use fidelake_core::patterns::{Fault, argument_faults};
use fidelake_core::stats::Chance;
use serde_json::{Value, json};

use super::arguments::{Arguments, at_the_edge};
use super::known::{Known, Member};
use crate::estimate::tasks::{Body, Call};

/// Values of one parameter that are tried per recorded call.
const VALUES: usize = 3;

/// What a probe does to the recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// A recorded call that looks on sim as the pattern's do, and that real was never asked.
    Alike,
    /// An argument has another value that was seen elsewhere.
    Observed,
    /// An argument has a value that the schema names.
    Schema,
    /// An argument stands at the edge of what the schema allows, or just beyond.
    Boundary,
    /// A parameter that is not declared is given.
    Undeclared,
    /// A required argument is left out.
    Missing,
    /// The call is made twice.
    Again,
    /// What the call writes, or another call writes, is read before and after it.
    ReadBack,
}

impl Sort {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Alike => "alike",
            Self::Observed => "observed",
            Self::Schema => "schema",
            Self::Boundary => "boundary",
            Self::Undeclared => "undeclared",
            Self::Missing => "missing",
            Self::Again => "again",
            Self::ReadBack => "read_back",
        }
    }
}

/// A sequence of calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    pub(super) sort: Sort,
    pub(super) api: String,
    pub(super) change: String,
    pub(super) of: String,
    pub(super) trajectory: (String, String),
    pub(super) prefix: usize,
    pub(super) calls: Vec<Value>,
    /// Of the whole sequence: equal for equal calls.
    pub(super) key: u128,
}

/// A hash of a sequence of call keys.
pub(super) fn sequence_key(keys: &[u128]) -> u128 {
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    Key::of(&bytes).bits()
}

/// The probes around the members, and how many members cannot be made again because of masks.
pub(super) fn probes(
    known: &Known,
    bodies: &BTreeMap<(String, String), Body>,
    reads: &BTreeSet<String>,
    seed: u64,
) -> (Vec<Probe>, u64) {
    let mut chance = Chance::new(seed ^ 0x0070_726f_6265);
    let mut out = Vec::new();
    let mut masked = 0;
    for call in &known.alike {
        let place = (call.environment.clone(), call.trajectory.clone());
        let around = bodies
            .get(&place)
            .and_then(|body| Around::new(call, body, reads));
        if let Some(around) = around.filter(|around| !around.is_masked()) {
            let own = vec![again(around.call, 0)];
            around.push(Sort::Alike, "as recorded", own, &mut out);
        }
    }
    for member in &known.members {
        let place = (member.environment.clone(), member.trajectory.clone());
        let Some(body) = bodies.get(&place) else {
            continue;
        };
        let around = Around::new(member, body, reads);
        let Some(around) = around else { continue };
        if around.is_masked() {
            masked += 1;
            continue;
        }
        around.all(known, &mut chance, &mut out);
    }
    (out, masked)
}

/// A recorded call, and what must come before it.
struct Around<'b> {
    place: (String, String),
    prefix: Vec<&'b Call>,
    call: &'b Call,
    arguments: Arguments,
    of: String,
    body: &'b Body,
    reads: &'b BTreeSet<String>,
}

impl<'b> Around<'b> {
    fn new(member: &Member, body: &'b Body, reads: &'b BTreeSet<String>) -> Option<Self> {
        let here = (member.turn, member.index);
        let call = body
            .calls
            .iter()
            .find(|call| (call.turn, call.index) == here)?;
        let before =
            |other: &&Call| (other.turn, other.index) < here && !reads.contains(&other.name);
        Some(Self {
            place: (member.environment.clone(), member.trajectory.clone()),
            prefix: body.calls.iter().filter(before).collect(),
            call,
            arguments: Arguments::parse(raw(call))?,
            of: format!("{}#{}.{}", member.trajectory, member.turn, member.index),
            body,
            reads,
        })
    }

    fn is_masked(&self) -> bool {
        let all = self.prefix.iter().copied().chain([self.call]);
        all.map(raw).any(|text| text.contains("<masked:"))
    }

    fn all(&self, known: &Known, chance: &mut Chance, out: &mut Vec<Probe>) {
        let tool = &self.call.name;
        let schema = known.schemas.get(tool).map_or("", String::as_str);
        for (parameter, own) in &self.arguments.0 {
            let key = (tool.clone(), parameter.clone());
            let seen = known.values.get(&key).map_or(&[][..], Vec::as_slice);
            let others: Vec<&String> = seen.iter().filter(|value| *value != own).collect();
            for _ in 0..VALUES.min(others.len()) {
                let value = others[chance.below(others.len())];
                let changed = self.arguments.with(parameter, value);
                // Checked against the catalog: an observed value must not be a fault by itself.
                if faults(&changed, schema)
                    .is_none_or(|f| f == faults(&self.arguments, schema).unwrap_or_default())
                {
                    self.one(
                        Sort::Observed,
                        &format!("{parameter} = {}", short(value)),
                        &changed,
                        out,
                    );
                }
            }
            for (value, what) in at_the_edge(schema, parameter) {
                if value == *own {
                    continue;
                }
                let changed = self.arguments.with(parameter, &value);
                let sort = if what == "schema" {
                    Sort::Schema
                } else {
                    Sort::Boundary
                };
                self.one(
                    sort,
                    &format!("{parameter} = {}", short(&value)),
                    &changed,
                    out,
                );
            }
            let without = self.arguments.without(parameter);
            let lacks = faults(&without, schema).is_some_and(|all| {
                all.iter()
                    .any(|f| f.0 == Fault::Missing && f.1 == *parameter)
            });
            if lacks {
                self.one(Sort::Missing, &format!("no {parameter}"), &without, out);
            }
        }
        // A name that other tools have, then one that none has.
        let elsewhere = known.parameters.iter().find(|name| {
            let added = self.arguments.with(name, "1");
            self.arguments.get(name).is_none() && undeclared(&added, schema, name)
        });
        let nobody = "undeclared_parameter".to_owned();
        for name in elsewhere.into_iter().chain([&nobody]) {
            let changed = self.arguments.with(name, "\"1\"");
            if schema.is_empty() || undeclared(&changed, schema, name) {
                self.one(Sort::Undeclared, &format!("{name} = \"1\""), &changed, out);
            }
        }
        let twice = vec![again(self.call, 0), again(self.call, 1)];
        self.push(Sort::Again, "made twice", twice, out);
        self.read_back(out);
    }

    fn one(&self, sort: Sort, change: &str, arguments: &Arguments, out: &mut Vec<Probe>) {
        let mut call = again(self.call, 0);
        call["arguments_raw"] = arguments.text().into();
        self.push(sort, change, vec![call], out);
    }

    /// Reads of what is written, before and after: a write between two identical reads that
    /// share a value with it.
    fn read_back(&self, out: &mut Vec<Probe>) {
        if self.reads.is_empty() {
            return;
        }
        let is_read = |call: &Call| self.reads.contains(&call.name);
        let shares = |call: &&Call| {
            let other = Arguments::parse(raw(call));
            let values = other.iter().flat_map(|a| a.0.iter());
            values.into_iter().any(|(_, value)| {
                value.len() > 3 && self.arguments.0.iter().any(|(_, own)| own == value)
            })
        };
        let wanted = is_read(self.call);
        let partner = self
            .body
            .calls
            .iter()
            .filter(|call| is_read(call) != wanted && !raw(call).contains("<masked:"))
            .find(shares);
        let Some(partner) = partner else { return };
        let (read, write) = if wanted {
            (self.call, partner)
        } else {
            (partner, self.call)
        };
        let calls = vec![again(read, 0), again(write, 1), again(read, 2)];
        let change = format!("{} before and after {}", read.name, write.name);
        self.push(Sort::ReadBack, &change, calls, out);
    }

    fn push(&self, sort: Sort, change: &str, own: Vec<Value>, out: &mut Vec<Probe>) {
        let mut calls: Vec<Value> = self.prefix.iter().map(|call| call.json.clone()).collect();
        let prefix = calls.len();
        calls.extend(own);
        // Turns follow each other: no call of a probe is parallel to another.
        for (turn, call) in calls.iter_mut().enumerate() {
            call["turn"] = json!(turn);
            call["index"] = json!(0);
            if let Some(call) = call.as_object_mut() {
                call.remove("id");
            }
        }
        let keys: Vec<u128> = calls.iter().map(key_of).collect();
        out.push(Probe {
            sort,
            api: self.call.name.clone(),
            change: change.to_owned(),
            of: self.of.clone(),
            trajectory: self.place.clone(),
            prefix,
            key: sequence_key(&keys),
            calls,
        });
    }
}

fn raw(call: &Call) -> &str {
    call.json["arguments_raw"].as_str().unwrap_or_default()
}

fn key_of(call: &Value) -> u128 {
    let raw = call["arguments_raw"].as_str().unwrap_or_default();
    let doc = Doc::parse(raw).ok();
    let name = call["name"].as_str().unwrap_or_default();
    call_key(name, doc.as_ref().map(Doc::root), raw).bits()
}

fn again(call: &Call, turn: usize) -> Value {
    let mut json = call.json.clone();
    json["turn"] = json!(turn);
    json
}

fn faults(arguments: &Arguments, schema: &str) -> Option<Vec<(Fault, String)>> {
    argument_faults(&arguments.text(), schema)
}

fn undeclared(arguments: &Arguments, schema: &str, name: &str) -> bool {
    let all = faults(arguments, schema);
    all.is_some_and(|all| all.iter().any(|f| f.0 == Fault::Undeclared && f.1 == name))
}

/// Enough of a value to know it by.
fn short(value: &str) -> String {
    let mut text: String = value.chars().take(40).collect();
    if text.len() < value.len() {
        text.push('…');
    }
    text
}
