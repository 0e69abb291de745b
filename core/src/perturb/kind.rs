//! The perturbations by name, and what each does.

/// What of the world a perturbation changes, as in "When Simulation Lies" (Zhou et
/// al. 2026): 4 + 6 + 6 + 6 types. The last six are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Text that the agent reads.
    Observation,
    /// The set of tools.
    Action,
    /// What moves the choice of a tool without changing what it does.
    Reward,
    /// What becomes of a call.
    Transition,
}

impl Dimension {
    /// The word that stands in tables: the dimension of the profile.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observation => "obs",
            Self::Action => "act",
            Self::Reward => "rew",
            Self::Transition => "trans",
        }
    }
}

/// Where a perturbation takes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActsOn {
    /// What the agent is told.
    Task,
    /// What the agent is offered.
    Catalog,
    /// What is answered, while calls are made.
    Calls,
}

impl ActsOn {
    /// The word that stands in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Catalog => "catalog",
            Self::Calls => "calls",
        }
    }
}

macro_rules! perturbations {
    ($($variant:ident $name:literal $dimension:ident $acts:ident $default:literal: $does:literal, $intensity:literal;)*) => {
        /// A perturbation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Perturbation {
            $(#[doc = $does] $variant,)*
        }

        impl Perturbation {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in plans, labels and notes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it changes of the world.
            #[must_use]
            pub const fn dimension(self) -> Dimension {
                match self { $(Self::$variant => Dimension::$dimension,)* }
            }

            /// Where it takes hold.
            #[must_use]
            pub const fn acts_on(self) -> ActsOn {
                match self { $(Self::$variant => ActsOn::$acts,)* }
            }

            /// Its intensity where none is given, in (0,1].
            #[must_use]
            pub const fn default_intensity(self) -> f64 {
                match self { $(Self::$variant => $default,)* }
            }

            /// What it does, in one sentence.
            #[must_use]
            pub const fn does(self) -> &'static str {
                match self { $(Self::$variant => $does,)* }
            }

            /// What its intensity means.
            #[must_use]
            pub const fn intensity(self) -> &'static str {
                match self { $(Self::$variant => $intensity,)* }
            }
        }
    };
}

perturbations! {
    ObsTypos "obs_typos" Observation Task 0.15:
        "Slips of the keyboard in the task: a neighbouring key, two letters swapped, one dropped or doubled, a common misspelling. Names, numbers, quotes and identifiers stay.",
        "share of the plain words of four letters and more that get one slip";
    ObsParaphrase "obs_paraphrase" Observation Task 1.0:
        "The task in other words, by rules and a word list. Names, numbers, quotes and identifiers stay.",
        "share of the places where a rule fits that are reworded";
    ObsToolDesc "obs_tool_desc" Observation Catalog 1.0:
        "Descriptions of tools in other words, by the same rules.",
        "share of the tools whose description is reworded";
    ObsParamDesc "obs_param_desc" Observation Catalog 1.0:
        "Descriptions of parameters in other words, by the same rules.",
        "share of the tools whose parameters are reworded";
    ActionA "action_a" Action Catalog 1.0:
        "A second tool of the same name, without description and parameters.",
        "share of the target tools that get one";
    ActionB "action_b" Action Catalog 1.0:
        "A second tool of the same name and description, without parameters.",
        "share of the target tools that get one";
    ActionC "action_c" Action Catalog 1.0:
        "A second tool of the same name, without description, with another tool's parameters.",
        "share of the target tools that get one";
    ActionD "action_d" Action Catalog 1.0:
        "A second tool of the same name and description, with another tool's parameters.",
        "share of the target tools that get one";
    ActionE "action_e" Action Catalog 1.0:
        "A second tool of the same name, with another tool's description and parameters.",
        "share of the target tools that get one";
    ActionRedundant "action_redundant" Action Catalog 1.0:
        "One or two further tools on the same subject that do something else.",
        "share of the target tools that get them";
    RewardCd "reward_cd" Reward Catalog 1.0:
        "The tool's description says what a call costs, and a dearer copy without parameters stands beside it as NAME_Budget.",
        "share of the target tools";
    RewardTd "reward_td" Reward Catalog 1.0:
        "The tool's description says how fast it answers, and a slower copy without parameters stands beside it as NAME_Fast.",
        "share of the target tools";
    RewardCdNt "reward_cd_nt" Reward Catalog 1.0:
        "As reward_cd, the copy being called NAME_1.",
        "share of the target tools";
    RewardTdNt "reward_td_nt" Reward Catalog 1.0:
        "As reward_td, the copy being called NAME_1.",
        "share of the target tools";
    RewardCdAb "reward_cd_ab" Reward Catalog 1.0:
        "As reward_cd_nt, and the tool itself is renamed to an abbreviation; its old name is unknown.",
        "share of the target tools";
    RewardTdAb "reward_td_ab" Reward Catalog 1.0:
        "As reward_td_nt, and the tool itself is renamed to an abbreviation; its old name is unknown.",
        "share of the target tools";
    TransitionTimeout "transition_timeout" Transition Calls 0.2:
        "A call is not made; its answer says that there was none in time.",
        "probability that a call is struck";
    TransitionRateLimit "transition_rate_limit" Transition Calls 0.2:
        "A call is not made; status 429 says that there were too many.",
        "probability that a call is struck";
    TransitionAuth "transition_auth" Transition Calls 0.2:
        "A call is not made; status 401 or 403 says that it is not allowed.",
        "probability that a call is struck";
    TransitionServerError "transition_server_error" Transition Calls 0.2:
        "A call is not made; status 500, 502 or 503 says that the server failed.",
        "probability that a call is struck";
    TransitionMalformed "transition_malformed" Transition Calls 0.2:
        "A call is made; its answer comes back broken, so that it cannot be read as JSON.",
        "probability that an answer is struck";
    TransitionSchemaDrift "transition_schema_drift" Transition Calls 0.2:
        "A call is made; its answer has another shape: fields renamed, wrapped, missing, numbers as texts.",
        "probability that an answer is struck";
    Latency "latency" Transition Calls 1.0:
        "Answers come late, by a log-normal delay; one beyond the timeout does not come at all.",
        "probability that an answer is delayed";
    EventualConsistency "eventual_consistency" Transition Calls 1.0:
        "Reads see a write only after some calls or some time.",
        "probability that a write is late";
    LostIdempotency "lost_idempotency" Transition Calls 1.0:
        "Making a state-changing call again is refused as a conflict, or each takes effect twice.",
        "probability that a repeat is refused, or that a call takes effect twice";
    StaleCache "stale_cache" Transition Calls 1.0:
        "A read that was made before is answered as it was then, whatever was written since.",
        "probability that a repeated read is answered from the cache";
    TruncatedOutput "truncated_output" Observation Calls 0.2:
        "Answers end in the middle.",
        "probability that an answer is cut";
    Pagination "pagination" Observation Calls 1.0:
        "Lists come in pages; the next one has to be asked for with the argument `cursor`.",
        "share of the tools that answer in pages";
}

impl Perturbation {
    /// By name; letter case and `-` for `_` do not count.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_lowercase().replace('-', "_");
        Self::ALL.iter().copied().find(|of| of.as_str() == name)
    }

    /// Whether it can be applied to a recorded run, without making calls.
    #[must_use]
    pub fn is_static(self) -> bool {
        self.acts_on() != ActsOn::Calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_the_paper_are_all_there() {
        let paper = &Perturbation::ALL[..22];
        let of = |dimension| paper.iter().filter(|p| p.dimension() == dimension).count();
        let counts = [
            Dimension::Observation,
            Dimension::Action,
            Dimension::Reward,
            Dimension::Transition,
        ]
        .map(of);
        assert_eq!(counts, [4, 6, 6, 6]);
        assert_eq!(paper.iter().filter(|p| p.is_static()).count(), 16);
        for &known in Perturbation::ALL {
            assert_eq!(Perturbation::parse(known.as_str()), Some(known));
            assert!(known.does().ends_with('.'), "{known:?}");
        }
        assert_eq!(
            Perturbation::parse("Transition-Rate-Limit"),
            Some(Perturbation::TransitionRateLimit)
        );
    }
}
