//! Closed sets of words, each spelled in one place only.

/// An enum whose variants have one stored spelling each, with both ways to it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
        }

        impl $name {
            /// Every one, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it stands in tables.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Reads the word back; `None` for any other text.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use words;

words! {
    /// Which world an execution ran in.
    Arm {
        /// The simulated one.
        Sim = "sim",
        /// The one the agent will be used in.
        Real = "real",
    }
}

words! {
    /// Where an observation came from.
    Origin {
        /// The tool was called.
        Live = "live",
        /// A recorded answer to the same call.
        ReplayExact = "replay_exact",
        /// A recorded answer to a similar call.
        ReplayNear = "replay_near",
        /// A model wrote it.
        Generated = "generated",
        /// A real implementation on a private state.
        Sandbox = "sandbox",
        /// It stood in a file that was imported.
        Recorded = "recorded",
    }
}

words! {
    /// Whether a call and a result found each other.
    CallStatus {
        /// The call has exactly one result.
        Answered = "answered",
        /// The call has none; its observation is missing, not empty.
        NoResult = "no_result",
        /// A result without a call.
        OrphanResult = "orphan_result",
        /// A result that more than one pending call could own.
        AmbiguousResult = "ambiguous_result",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_both_ways() {
        for &arm in Arm::ALL {
            assert_eq!(Arm::parse(arm.as_str()), Some(arm));
        }
        for &origin in Origin::ALL {
            assert_eq!(Origin::parse(origin.as_str()), Some(origin));
        }
        for &status in CallStatus::ALL {
            assert_eq!(CallStatus::parse(&status.to_string()), Some(status));
        }
        assert_eq!(Arm::parse("SIM"), None);
        assert_eq!(Origin::ReplayNear.as_str(), "replay_near");
    }
}
