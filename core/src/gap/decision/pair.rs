//! Two catalogs, aligned tool by tool and read.

use std::collections::{BTreeSet, HashMap};

use super::bag::Bag;
use super::mix::{Dimension, Mix};
use super::terms::TermWeights;
use crate::gap::catalog::{Tool, partners};
use crate::gap::schema::{SchemaParts, split};
use crate::gap::words::split_reward;

/// A tool of either catalog: for a pair of partners both.
#[derive(Clone, Debug)]
pub(super) struct United {
    /// Name in sim and in real; equal if only one arm has it.
    names: [String; 2],
    /// Parameter names at every depth, sim and real.
    parameters: [BTreeSet<String>; 2],
    /// Whether sim, and whether real offers it.
    on: [bool; 2],
    bags: Bags,
}

/// Places of the bags of a tool in [`Pair::bags`]; equal texts share one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bags {
    names: [usize; 2],
    parameters: [usize; 2],
    /// By the arm of the rest of the description, then by that of its reward text.
    descriptions: [[usize; 2]; 2],
}

/// Two catalogs, aligned and read: made once, used for every trajectory that was
/// offered them.
#[derive(Clone, Debug)]
pub struct Pair {
    pub(super) tools: Vec<United>,
    pub(super) bags: Vec<Bag>,
}

/// A tool as a mixed world offers it.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'p> {
    /// Place among the tools of both catalogs.
    pub place: usize,
    /// Its name there.
    pub name: &'p str,
    /// Names of its parameters there, at every depth.
    pub parameters: &'p BTreeSet<String>,
    pub(super) bags: [usize; 3],
}

impl Pair {
    pub(super) fn read(sim: &[Tool<'_>], real: &[Tool<'_>], terms: &TermWeights) -> Self {
        let parts = |tools: &[Tool<'_>]| -> Vec<SchemaParts> {
            tools.iter().map(|tool| split(tool.parameters)).collect()
        };
        let (a, b) = (parts(sim), parts(real));
        let mut reader = Reader::new(terms);
        let mut taken = vec![false; real.len()];
        let mut tools = Vec::with_capacity(sim.len().max(real.len()));
        for (i, (partner, _)) in partners(sim, &a, real, &b).into_iter().enumerate() {
            let own = (&sim[i], &a[i]);
            tools.push(match partner {
                Some(j) => {
                    taken[j] = true;
                    reader.unite([own, (&real[j], &b[j])], [true, true])
                }
                None => reader.unite([own, own], [true, false]),
            });
        }
        for j in (0..real.len()).filter(|&j| !taken[j]) {
            let own = (&real[j], &b[j]);
            tools.push(reader.unite([own, own], [false, true]));
        }
        Self {
            tools,
            bags: reader.bags,
        }
    }

    /// The tools that a mixed world offers. A tool that only one arm has comes and
    /// goes with `act`, with all its text; names and reward texts of partners
    /// are `rew`, what they accept is `act`, the rest of their text is `obs`.
    pub fn offered(&self, mix: Mix) -> impl Iterator<Item = Offered<'_>> {
        let [obs, act, rew] = Dimension::ALL.map(|dimension| mix.arm(dimension));
        let there = self.tools.iter().enumerate();
        let there = there.filter(move |(_, tool)| tool.on[act]);
        there.map(move |(place, tool)| Offered {
            place,
            name: &tool.names[rew],
            parameters: &tool.parameters[act],
            bags: [
                tool.bags.names[rew],
                tool.bags.descriptions[obs][rew],
                tool.bags.parameters[act],
            ],
        })
    }

    /// The tool of sim that a call means: of several of its name the first that
    /// takes its arguments.
    pub(super) fn meant(&self, name: &str, keys: &[String]) -> Option<&United> {
        let named = || {
            let on_sim = self.tools.iter().filter(|tool| tool.on[0]);
            on_sim.filter(|tool| tool.names[0] == name)
        };
        let takes = |tool: &&United| keys.iter().all(|key| tool.parameters[0].contains(key));
        named().find(takes).or_else(|| named().next())
    }
}

impl United {
    /// Its name in real, if real has it.
    pub(super) fn in_real(&self) -> Option<&str> {
        self.on[1].then_some(&*self.names[1])
    }
}

struct Reader<'t> {
    terms: &'t TermWeights,
    bags: Vec<Bag>,
    known: HashMap<String, usize>,
}

impl<'t> Reader<'t> {
    fn new(terms: &'t TermWeights) -> Self {
        Self {
            terms,
            bags: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn bag(&mut self, text: String) -> usize {
        let (bags, terms) = (&mut self.bags, self.terms);
        *self.known.entry(text).or_insert_with_key(|text| {
            bags.push(Bag::read([text.as_str()], terms));
            bags.len() - 1
        })
    }

    fn unite(&mut self, sides: [(&Tool<'_>, &SchemaParts); 2], on: [bool; 2]) -> United {
        let texts = sides.map(|(tool, _)| split_reward(tool.description));
        let bags = Bags {
            names: sides.map(|(tool, _)| self.bag(tool.name.to_owned())),
            parameters: sides.map(|(_, parts)| {
                let names: Vec<&str> = parts.names.iter().map(String::as_str).collect();
                self.bag(names.join("\n"))
            }),
            descriptions: [0, 1].map(|obs| {
                [0, 1].map(|rew: usize| {
                    let (rest, reward) = (&texts[obs as usize].1, &texts[rew].0);
                    self.bag(format!("{rest}\n{reward}"))
                })
            }),
        };
        United {
            names: sides.map(|(tool, _)| tool.name.to_owned()),
            parameters: sides.map(|(_, parts)| parts.names.clone()),
            on,
            bags,
        }
    }
}
