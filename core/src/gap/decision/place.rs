//! Which calls are right, and where in each run they stand.

use std::collections::HashMap;

use super::right::RightCall;

/// A call that a run made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made<'m> {
    /// Turn.
    pub turn: i32,
    /// Place within the turn.
    pub index: i32,
    /// Tool name.
    pub name: &'m str,
    /// Arguments, JSON.
    pub arguments: &'m str,
    /// Its call key; the same call has the same.
    pub key: u128,
}

/// Who says which calls are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoldSource {
    /// The task comes with them.
    Gold,
    /// The calls that the sim run made.
    Recorded,
    /// As many as a policy of one's own logged, in the place of the probe.
    Logged,
    /// Nobody: only the shift of picks is known.
    None,
}

impl GoldSource {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gold => "gold",
            Self::Recorded => "recorded",
            Self::Logged => "logged",
            Self::None => "none",
        }
    }
}

/// A right call with the call of the sim run that it is, if that made it.
pub type Placed<'c> = (RightCall<'c>, Option<(i32, i32)>);

/// The right calls: those of `gold` (sim, real) if there are any, else those that the
/// sim run made. Real's own gold calls hold there if they are as many. `made` are
/// the calls of one run of either arm, in order.
///
/// A gold call stands where the run made it; else right after the gold call before
/// it; before anything was answered if there is none. A recorded call that the
/// real run did not make stands there at the turn that it has in sim.
#[must_use]
pub fn right_calls<'c>(
    gold: [&[Made<'c>]; 2],
    made: [&[Made<'c>]; 2],
) -> (GoldSource, Vec<Placed<'c>>) {
    let [sim, real] = gold;
    if sim.is_empty() && made[0].is_empty() {
        return (GoldSource::None, Vec::new());
    }
    let mut in_real = Places::of(made[1]);
    if sim.is_empty() {
        let calls = made[0].iter().map(|call| {
            let there = in_real.next(call.key).map_or(call.turn, |(turn, _)| turn);
            let right = RightCall {
                sim: (call.name, call.arguments),
                real: None,
                turns: [Some(call.turn), Some(there)],
            };
            (right, Some((call.turn, call.index)))
        });
        return (GoldSource::Recorded, calls.collect());
    }
    let mut in_sim = Places::of(made[0]);
    let own = (real.len() == sim.len()).then_some(real);
    let calls = sim.iter().enumerate().map(|(at, call)| {
        let there = own.map(|real| &real[at]);
        let place = in_sim.next(call.key);
        let turns = [in_sim.turn(place), {
            let place = in_real.next(there.map_or(call.key, |there| there.key));
            in_real.turn(place)
        }];
        let right = RightCall {
            sim: (call.name, call.arguments),
            real: there.map(|there| (there.name, there.arguments)),
            turns,
        };
        (right, place)
    });
    (GoldSource::Gold, calls.collect())
}

/// Where the calls of a run stand; each is given once.
struct Places {
    left: HashMap<u128, Vec<(i32, i32)>>,
    last: Option<i32>,
}

impl Places {
    fn of(made: &[Made<'_>]) -> Self {
        let mut left: HashMap<u128, Vec<(i32, i32)>> = HashMap::new();
        for call in made.iter().rev() {
            left.entry(call.key)
                .or_default()
                .push((call.turn, call.index));
        }
        Self { left, last: None }
    }

    fn next(&mut self, key: u128) -> Option<(i32, i32)> {
        self.left.get_mut(&key).and_then(Vec::pop)
    }

    /// The turn of a gold call, from where it was found.
    fn turn(&mut self, found: Option<(i32, i32)>) -> Option<i32> {
        let turn = match found {
            Some((turn, _)) => Some(turn),
            None => self.last.map(|last| last.saturating_add(1)),
        };
        self.last = turn.or(self.last);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(turn: i32, name: &str, key: u128) -> Made<'_> {
        Made {
            turn,
            index: 0,
            name,
            arguments: "{}",
            key,
        }
    }

    fn turns(found: &[Placed<'_>]) -> Vec<[Option<i32>; 2]> {
        found.iter().map(|(call, _)| call.turns).collect()
    }

    #[test]
    fn recorded_calls_stand_where_they_were_made() {
        let sim = [made(0, "a", 1), made(2, "b", 2), made(3, "a", 1)];
        let real = [made(1, "a", 1), made(4, "a", 1)];
        let (source, found) = right_calls([&[], &[]], [&sim, &real]);
        assert_eq!(source, GoldSource::Recorded);
        let wanted = [(0, 1), (2, 2), (3, 4)].map(|(a, b)| [Some(a), Some(b)]);
        assert_eq!(turns(&found), wanted);
        assert_eq!(found[2].1, Some((3, 0)));
    }

    #[test]
    fn gold_calls_stand_where_the_run_made_them_or_after_the_last() {
        let gold = [made(0, "a", 1), made(0, "b", 2), made(0, "c", 3)];
        let renamed = [made(0, "A", 9), made(0, "b", 2), made(0, "c", 3)];
        let sim = [made(2, "a", 1), made(5, "c", 3)];
        let (source, found) = right_calls([&gold, &renamed], [&sim, &[]]);
        assert_eq!(source, GoldSource::Gold);
        assert_eq!(
            turns(&found),
            [[Some(2), None], [Some(3), None], [Some(5), None]]
        );
        assert_eq!((found[0].0.real, found[1].1), (Some(("A", "{}")), None));
        // Another number of calls says nothing of these.
        let (_, found) = right_calls([&gold, &renamed[..2]], [&sim, &[]]);
        assert_eq!(found[0].0.real, None);
        assert_eq!(right_calls([&[], &gold], [&[], &sim]).0, GoldSource::None);
    }
}
