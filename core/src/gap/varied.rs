//! What differs between two answers that should be equal, by generalised path.

use super::answer::Answer;
use super::comparer::Comparer;
use super::kinds::{DiffKind, Loss};
use super::shape;
use super::tally::Sink;

/// How two repeats differ at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varied {
    /// Two leaves of one shape (see [`shape`](super::shape)).
    pub same_shape: bool,
    /// Two numbers, one of them with a fraction.
    pub floats: bool,
    /// An array with the same elements in another order; the path is that of the array.
    pub order: bool,
}

impl Varied {
    pub(super) const ELSE: Self = Self {
        same_shape: false,
        floats: false,
        order: false,
    };

    fn leaves(left: &str, right: &str) -> Self {
        let number = |raw: &str| raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let fraction = |raw: &str| raw.contains(['.', 'e']);
        Self {
            same_shape: shape::of_leaf(left) == shape::of_leaf(right),
            floats: number(left) && number(right) && (fraction(left) || fraction(right)),
            order: false,
        }
    }
}

/// Collects what differs, by generalised path.
struct Listen {
    path: String,
    steps: Vec<usize>,
    found: Vec<(String, Varied)>,
}

impl Sink for Listen {
    fn key(&mut self, key: &str) {
        self.steps.push(self.path.len());
        super::diff::push_key(&mut self.path, key);
    }

    fn index(&mut self, _index: u32) {
        self.steps.push(self.path.len());
        self.path.push_str("[*]");
    }

    fn leave(&mut self) {
        self.path.truncate(self.steps.pop().unwrap_or(1));
    }

    fn lost(&mut self, loss: Loss, left: Option<&str>, right: Option<&str>) {
        let how = match (loss.kind, left, right) {
            (DiffKind::Value | DiffKind::Cosmetic, Some(left), Some(right)) => {
                Varied::leaves(left, right)
            }
            // Another form of the whole answer is no property of a path.
            (DiffKind::Cosmetic, None, None) => return,
            _ => Varied::ELSE,
        };
        self.found.push((self.path.clone(), how));
    }

    fn mark(&self) -> usize {
        self.found.len()
    }

    fn rewind(&mut self, mark: usize) {
        self.found.truncate(mark);
        self.path.truncate(1);
        self.steps.clear();
    }

    fn reorder(&mut self, mark: usize, _weight: f64, _left: &str, _right: &str) {
        self.found.truncate(mark);
        let order = Varied {
            order: true,
            ..Varied::ELSE
        };
        self.found.push((self.path.clone(), order));
    }
}

impl Comparer {
    /// Tells `sink` each path at which two answers of one arm differ, and how.
    /// Elements of arrays stand at `[*]`, so a path may come more than once. A
    /// value that one of them alone has is reported at its own path.
    pub fn varied(
        &mut self,
        left: Answer<'_>,
        right: Answer<'_>,
        mut sink: impl FnMut(&str, Varied),
    ) {
        let mut listen = Listen {
            path: "$".to_owned(),
            steps: vec![],
            found: vec![],
        };
        let _ = self.observe_into(None, left, right, &mut listen);
        for (path, how) in &listen.found {
            sink(path, *how);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varied(left: &str, right: &str) -> Vec<String> {
        let mut found = vec![];
        let (left, right) = (Answer::json(left), Answer::json(right));
        Comparer::default().varied(left, right, |path, how| {
            found.push(format!(
                "{path} {}{}{}",
                if how.same_shape { "s" } else { "" },
                if how.floats { "f" } else { "" },
                if how.order { "o" } else { "" }
            ));
        });
        found
    }

    #[test]
    fn what_varies_is_told_by_path() {
        let left = r#"{"a":[{"id":"A1","x":1.5},{"id":"B2","x":2}],"k y":1,"n":"x","o":[1,2]}"#;
        let right = r#"{"a":[{"id":"C3","x":1.25},{"id":"B2","x":2}],"k y":10,"n":1,"o":[2,1]}"#;
        assert_eq!(
            varied(left, right),
            [
                "$.a[*].id s",
                "$.a[*].x sf",
                "$[\"k y\"] s",
                "$.n ",
                "$.o o"
            ]
        );
        assert_eq!(varied(left, left), Vec::<String>::new());
    }
}
