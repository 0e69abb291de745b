//! The loss of two numbers.

use super::kinds::{CosmeticKind, DiffKind, Loss, Rules};
use super::rules::{ContentClass, Effect};
use crate::json::canonical_number;

/// Integers up to here are exact in a float.
const EXACT: u128 = 1 << 53;
/// No finite float has more digits before the point.
const FLOAT_DIGITS: usize = 309;

/// The loss of two numbers in different spellings; `None` if a rule makes them equal.
pub(super) fn loss(
    left: &str,
    right: &str,
    effect: Option<&Effect>,
    rules: &Rules,
) -> Option<Loss> {
    let (a, b) = (canonical_number(left), canonical_number(right));
    if a == b {
        return Some(Loss::slight(CosmeticKind::NumberSpelling, rules));
    }
    if let Some(effect) = effect {
        if effect.precision.is_some_and(|x| distance(&a, &b) < x) {
            return None;
        }
        if effect.class == Some(ContentClass::Tolerant) {
            let loss = relative(&a, &b);
            return (loss > 0.0).then_some(Loss::of(DiffKind::Value, loss));
        }
    }
    if is_rounded(&a, &b) {
        return Some(Loss::slight(CosmeticKind::BigInteger, rules));
    }
    Some(Loss::of(DiffKind::Value, 1.0))
}

/// `|a - b|`: integers exactly, else as floats; never small for what is not finite.
fn distance(a: &str, b: &str) -> f64 {
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return a.abs_diff(b) as f64;
    }
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) if a.is_finite() && b.is_finite() => (a - b).abs(),
        _ => f64::INFINITY,
    }
}

/// `|a - b| / max(|a|, |b|)`, 1 if the signs differ or one is not finite.
fn relative(a: &str, b: &str) -> f64 {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) if x.is_finite() && y.is_finite() => {
            if (x < 0.0) != (y < 0.0) && x != 0.0 && y != 0.0 {
                return 1.0;
            }
            let (small, large) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
            if large == 0.0 {
                return 0.0;
            }
            (1.0 - small / large).clamp(0.0, 1.0)
        }
        _ => 1.0,
    }
}

/// Whether one is an integer that no float holds, and the other what a float
/// makes of it: its exact value, or the shortest digits that lead back to it.
fn is_rounded(a: &str, b: &str) -> bool {
    let beyond = |text: &str| {
        text.len() <= FLOAT_DIGITS + 1
            && text
                .parse::<i128>()
                .map_or(text.len() > 38, |v| v.unsigned_abs() > EXACT)
    };
    if !beyond(a) && !beyond(b) {
        return false;
    }
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else {
        return false;
    };
    if x != y || !x.is_finite() {
        return false;
    }
    let written = [format!("{x}"), format!("{x:.0}")];
    written
        .iter()
        .map(|text| canonical_number(text))
        .any(|text| text == a || text == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(left: &str, right: &str) -> Loss {
        loss(left, right, None, &Rules::default()).unwrap()
    }

    #[test]
    fn integers_are_exact_and_rounding_is_seen() {
        assert_eq!(plain("1", "2"), Loss::of(DiffKind::Value, 1.0));
        assert_eq!(
            plain("1.0", "1e0").cosmetic,
            Some(CosmeticKind::NumberSpelling)
        );
        // JavaScript writes the shortest digits, C the exact value.
        for rounded in ["12345678901234567000", "12345678901234567168"] {
            let found = plain("12345678901234567890", rounded);
            assert_eq!(found, Loss::cosmetic(CosmeticKind::BigInteger, 0.2));
        }
        assert_eq!(
            plain("12345678901234567890", "12345678901234567891").weight,
            1.0
        );
        assert_eq!(plain("9007199254740993", "9007199254740994").weight, 1.0);
        assert_eq!(plain("9007199254740993", "9007199254740992").weight, 0.2);
        assert_eq!(plain(&"9".repeat(400), &"8".repeat(400)).weight, 1.0);
        assert_eq!(plain("NaN", "Infinity").weight, 1.0);
    }

    #[test]
    fn precision_and_tolerance_by_hand() {
        let effect = |precision, class| Effect {
            precision,
            class,
            ..Effect::default()
        };
        let of = |a, b, effect: &Effect| loss(a, b, Some(effect), &Rules::default());
        let close = effect(Some(0.5), None);
        assert_eq!(of("1.2", "1.5", &close), None);
        assert_eq!(of("1", "1.5", &close).map(|l| l.weight), Some(1.0));
        assert_eq!(of("NaN", "1", &close).map(|l| l.weight), Some(1.0));
        // A float would call them equal.
        assert!(of("9007199254740993", "9007199254740994", &close).is_some());
        let near = effect(None, Some(ContentClass::Tolerant));
        let weight = |a, b| of(a, b, &near).map_or(0.0, |l| l.weight);
        assert!((weight("8", "10.0") - 0.2).abs() < 1e-12);
        assert_eq!(weight("-8", "8"), 1.0);
        assert_eq!(weight("0", "8"), 1.0);
        assert_eq!(weight("1e999", "1"), 1.0);
    }
}
