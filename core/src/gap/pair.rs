//! Two whole answers: values, bare texts, or one of each.

use super::answer::{Answer, Form};
use super::guide::Guide;
use super::kinds::{CosmeticKind, DiffKind, Loss};
use super::leaf::{self, Context};
use super::scan::{Leaves, Malformed};
use super::side::Side;
use super::tally::{Sink, Tally};
use super::tokens;
use super::walk::Walk;
use super::weigh::weigh;
use crate::json::{Doc, canonical, is_blob};

/// One comparison under way.
pub(super) struct Pair<'w, S, G> {
    pub(super) context: Context<'w>,
    pub(super) sink: &'w mut S,
    pub(super) guide: G,
}

impl<S: Sink, G: Guide> Pair<'_, S, G> {
    pub(super) fn compare(mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        if self.guide.effect().is_some_and(|effect| effect.ignore) {
            return Tally::default();
        }
        let mut tally = self.tally(left, right);
        // A cut value is text only because it was cut.
        if left.form != right.form && !left.truncated && !right.truncated {
            let weight = self.context.rules.cosmetic.of(CosmeticKind::Form);
            let (kept, kept_mass) = tally.kept();
            if kept > 0.0 {
                let loss = Loss::cosmetic(CosmeticKind::Form, weight * kept);
                tally.value += loss.weight;
                tally.value_mass += weight * kept_mass;
                tally.kinds.add(loss.kind, 1);
                self.sink.lost(loss, None, None);
            }
        }
        tally
    }

    fn tally(&mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        match (left.form, right.form) {
            (Form::Text, Form::Text) => self.texts(left, right),
            (Form::Text, _) | (_, Form::Text) => self.mixed(left, right),
            _ => self.values(left, right),
        }
    }

    /// Two values. What is not canonical is made so first; what is no JSON at all is text.
    fn values(&mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        if left.text == right.text
            && let Some(leaves) = self.leaves(left)
        {
            let mut tally = Tally::default();
            tally.share_all(leaves);
            return tally;
        }
        let mark = self.sink.mark();
        if let Ok(tally) = self.walk(left.text, right.text) {
            return tally;
        }
        let form = |text: &str| Doc::parse(text).ok().map(|doc| canonical(doc.root()).0);
        let (a, b) = (form(left.text), form(right.text));
        if let (Some(a), Some(b)) = (&a, &b) {
            self.rewind(mark);
            if let Ok(tally) = self.walk(a, b) {
                return tally;
            }
        }
        self.rewind(mark);
        let plain = |text| Answer::plain(text);
        match (&a, &b) {
            (Some(a), None) => self.mixed(Answer::json(a), plain(right.text)),
            (None, Some(b)) => self.mixed(plain(left.text), Answer::json(b)),
            _ => self.texts(plain(left.text), plain(right.text)),
        }
    }

    fn rewind(&mut self, mark: usize) {
        self.sink.rewind(mark);
        self.guide.rewind();
    }

    fn walk(&mut self, left: &str, right: &str) -> Result<Tally, Malformed> {
        let Context { rules, bags, level } = &mut self.context;
        let mut walk = Walk {
            left: Side::new(left),
            right: Side::new(right),
            tally: Tally::default(),
            context: Context {
                rules,
                bags,
                level: *level,
            },
            sink: &mut *self.sink,
            guide: &mut self.guide,
            same: (0, 0),
        };
        walk.value(0)?;
        let whole = walk.left.done() && walk.right.done();
        whole.then_some(walk.tally).ok_or(Malformed)
    }

    /// The leaves of a value, by the rules; `None` if it is none.
    fn leaves(&mut self, answer: Answer<'_>) -> Option<Leaves> {
        let rules = self.context.rules;
        match weigh(answer.text, 0, 0, &mut self.guide, rules, false) {
            Ok((found, end)) => (end == answer.text.len()).then_some(found.leaves),
            Err(_) => {
                self.guide.rewind();
                None
            }
        }
    }

    /// Two bare texts: one path, `$`.
    fn texts(&mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        let (a, b) = (left.text, right.text);
        let loss = if left.truncated || right.truncated {
            let loss = self.prefixes(a, b, left.truncated, right.truncated);
            (loss > 0.0).then_some(Loss::of(DiffKind::Value, loss))
        } else {
            leaf::texts(a, b, self.guide.effect(), &mut self.context)
        };
        self.one_path(a, b, loss)
    }

    /// The loss of the common prefix, in tokens.
    fn prefixes(&mut self, a: &str, b: &str, a_cut: bool, b_cut: bool) -> f64 {
        if is_blob(a) || is_blob(b) {
            let same = tokens::common_prefix(a.as_bytes(), b.as_bytes());
            let is_prefix = (same == a.len() && a_cut) || (same == b.len() && b_cut) || a == b;
            return f64::from(u8::from(!is_prefix));
        }
        let known = |text: &str, cut: bool| match cut {
            true => tokens::count(text).saturating_sub(1),
            false => usize::MAX,
        };
        let limit = known(a, a_cut).min(known(b, b_cut));
        if limit == 0 {
            return 0.0;
        }
        1.0 - tokens::similarity(a, b, limit, self.context.bags)
    }

    /// A bare text against a value.
    fn mixed(&mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        if left.truncated || right.truncated {
            return self.cut(left, right);
        }
        let is_string = |a: Answer<'_>| a.form == Form::Text || a.text.starts_with('"');
        if is_string(left) && is_string(right) {
            let text = |a: Answer<'_>| match a.form {
                Form::Text => a.text.to_owned(),
                _ => leaf::decode(a.text).into_owned(),
            };
            let (a, b) = (text(left), text(right));
            let loss = leaf::texts(&a, &b, self.guide.effect(), &mut self.context);
            return self.one_path(&a, &b, loss);
        }
        let mut leaves = |a: Answer<'_>| match a.form {
            Form::Text => one_leaf(a.text),
            _ => self.leaves(a).unwrap_or(one_leaf(a.text)),
        };
        let (a, b) = (leaves(left), leaves(right));
        let mut tally = Tally::default();
        let container = |a: Answer<'_>| {
            a.form != Form::Text && a.text.starts_with(['{', '[']) && a.text.len() > 2
        };
        let (count, mass) = (a.count.max(b.count), a.mass.max(b.mass));
        let loss = |paths: u32| match self.guide.effect().and_then(|effect| effect.cosmetic) {
            Some(weight) => Loss::cosmetic(CosmeticKind::Rule, weight * f64::from(paths)),
            None => Loss::of(DiffKind::Type, f64::from(paths)),
        };
        let loss = if container(left) || container(right) {
            let loss = loss(count);
            tally.union = count;
            tally.mass = mass;
            tally.structure = loss.weight;
            tally.structure_mass = mass as f64 * loss.weight / f64::from(count.max(1));
            tally.kinds.add(loss.kind, 1);
            loss
        } else {
            let loss = loss(1);
            tally.share(mass as usize);
            tally.lose(loss, mass as usize);
            loss
        };
        self.sink.lost(loss, Some(left.text), Some(right.text));
        tally
    }

    /// A text against a value, one of which was cut: as they were given, if that is known of the value; else by
    /// the words of what was cut, since the order of the value's keys is not that of the text.
    fn cut(&mut self, left: Answer<'_>, right: Answer<'_>) -> Tally {
        let given = |a: Answer<'_>| a.form == Form::Text || !a.raw.is_empty();
        if given(left) && given(right) {
            return self.texts(as_given(left), as_given(right));
        }
        let shorter_is_left = match (left.truncated, right.truncated) {
            (true, false) => true,
            (false, true) => false,
            _ => (left.text.len(), left.text) <= (right.text.len(), right.text),
        };
        let (cut, other) = match shorter_is_left {
            true => (left.text, right.text),
            false => (right.text, left.text),
        };
        let loss = 1.0 - tokens::contained(cut, other, self.context.bags);
        let loss = (loss > 0.0).then_some(Loss::of(DiffKind::Value, loss));
        self.one_path(left.text, right.text, loss)
    }

    fn one_path(&mut self, a: &str, b: &str, loss: Option<Loss>) -> Tally {
        let mut tally = Tally::default();
        let mass = a.len().max(b.len()).max(1);
        tally.share(mass);
        if let Some(loss) = loss {
            tally.lose(loss, mass);
            self.sink.lost(loss, Some(a), Some(b));
        }
        tally
    }
}

/// The text of an answer as it was given.
fn as_given(answer: Answer<'_>) -> Answer<'_> {
    match answer.form {
        Form::Text => answer,
        _ => Answer {
            text: answer.raw,
            form: Form::Text,
            ..answer
        },
    }
}

fn one_leaf(text: &str) -> Leaves {
    Leaves {
        count: 1,
        nulls: 0,
        mass: text.len().max(1) as u64,
    }
}
