//! Which agents there are.

/// What an agent takes for given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mind {
    /// Everything: it makes the right calls as they were.
    Gold,
    /// The order of calls; values that came from answers are taken from the live ones.
    Rebinding,
    /// The same, and that a tool is what it declares: of several tools of one name it takes
    /// the first on offer, and it sends only the arguments that this one knows.
    Strict,
    /// The same as `Rebinding`; values that it was told are found by the words around them.
    Reader,
    /// What it wants of a tool; which one does it is found among those on offer by their
    /// words. It reads as the probe of the decision gap does, so its harm is no independent
    /// evidence for that.
    Picker,
}

/// What an agent does when a call fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Habits {
    /// It makes a call again that failed for no fault of its own.
    pub retry: bool,
    /// It waits before that, as long as it is asked to, and longer each time.
    pub backoff: bool,
    /// Before making a state-changing call again it looks whether the first one took effect.
    pub read_back: bool,
}

/// A scripted agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    /// What it takes for given.
    pub mind: Mind,
    /// What it does when a call fails.
    pub habits: Habits,
}

impl Agent {
    /// All of them: five minds, each with every set of habits that makes a difference.
    /// Without retry there is nothing to wait for and nothing to look at.
    pub fn all() -> impl Iterator<Item = Self> {
        let habits = [
            [false, false, false],
            [true, false, false],
            [true, true, false],
            [true, false, true],
            [true, true, true],
        ];
        let minds = [
            Mind::Gold,
            Mind::Rebinding,
            Mind::Strict,
            Mind::Reader,
            Mind::Picker,
        ];
        minds.into_iter().flat_map(move |mind| {
            habits.map(|[retry, backoff, read_back]| Self {
                mind,
                habits: Habits {
                    retry,
                    backoff,
                    read_back,
                },
            })
        })
    }

    /// Its name: `gold`, `rebinding+retry+backoff`.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = match self.mind {
            Mind::Gold => "gold",
            Mind::Rebinding => "rebinding",
            Mind::Strict => "strict",
            Mind::Reader => "reader",
            Mind::Picker => "picker",
        }
        .to_owned();
        for (has, habit) in [
            (self.habits.retry, "+retry"),
            (self.habits.backoff, "+backoff"),
            (self.habits.read_back, "+read_back"),
        ] {
            name.push_str(if has { habit } else { "" });
        }
        name
    }

    /// By name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|agent| agent.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_name_of_its_own() {
        let all: Vec<Agent> = Agent::all().collect();
        assert_eq!(all.len(), 25);
        for agent in all {
            assert_eq!(Agent::parse(&agent.name()), Some(agent));
        }
        assert_eq!(Agent::parse("gold+backoff"), None);
    }
}
