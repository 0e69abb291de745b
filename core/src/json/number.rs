//! Numbers by their text: exact at any size.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::flags::Flags;

/// Where the number that starts at `at` ends, `NaN` and the infinities included;
/// `None` if it is none by the JSON grammar.
pub(super) fn end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    for word in ["NaN", "Infinity", "-Infinity", "-NaN"] {
        if rest.starts_with(word.as_bytes()) {
            return Some(at + word.len());
        }
    }
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut i = at;
    if bytes.get(i) == Some(&b'-') {
        i += 1;
    }
    match bytes.get(i)? {
        b'0' => i += 1,
        b'1'..=b'9' => i = digits(i),
        _ => return None,
    }
    if bytes.get(i).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if bytes.get(i) == Some(&b'.') {
        let end = digits(i + 1);
        if end == i + 1 {
            return None;
        }
        i = end;
    }
    if let Some(b'e' | b'E') = bytes.get(i) {
        let start = i + 1 + usize::from(matches!(bytes.get(i + 1), Some(b'+' | b'-')));
        let end = digits(start);
        if end == start {
            return None;
        }
        i = end;
    }
    Some(i)
}

/// What is odd about a number's text.
pub(super) fn flags(text: &str) -> Flags {
    const EXACT_DIGITS: usize = 15;
    let bytes = text.as_bytes();
    match bytes.last() {
        Some(b'N') => return Flags::NAN,
        Some(b'y') => return Flags::INFINITY,
        _ if bytes.len() <= EXACT_DIGITS && !bytes.contains(&b'e') && !bytes.contains(&b'E') => {
            return Flags::NONE;
        }
        _ => {}
    }
    let mut flags = Flags::NONE;
    let integer = bytes.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    if integer
        && text
            .parse::<i64>()
            .is_ok_and(|v| v.unsigned_abs() <= 1 << 53)
    {
        return flags;
    }
    if integer {
        flags |= Flags::BIG_INTEGER;
        if bytes.ends_with(b"00") {
            flags |= Flags::POSSIBLY_ROUNDED;
        }
    } else if text.parse::<f64>().is_ok_and(f64::is_infinite) {
        flags |= Flags::INFINITY;
    }
    flags
}

/// The nearest float.
pub(super) fn to_f64(text: &str) -> Option<f64> {
    match text {
        "NaN" | "-NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

/// A decimal number by its digits: `0.digits x 10^exponent`, exact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Below zero. Never set for zero.
    pub negative: bool,
    /// Significant digits without leading or trailing zeros; empty for zero.
    pub digits: String,
    /// The power of ten; 0 for zero.
    pub exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` for `NaN`, the infinities and exponents beyond 10^15.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], rest[at + 1..].parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        if exponent.unsigned_abs() > 1_000_000_000_000_000 {
            return None;
        }
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let digits = digits
            .trim_start_matches('0')
            .trim_end_matches('0')
            .to_owned();
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        let exponent = exponent + whole.len() as i64 - leading as i64;
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// Whether the value has no fraction.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.exponent >= self.digits.len() as i64
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        self.exponent
            .cmp(&other.exponent)
            .then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}

/// The one spelling that equal numbers share: `1`, `1.0`, `1e0` are all `1`.
/// Plain up to 64 characters, with an exponent beyond. `NaN` and the
/// infinities are written as Python and JavaScript do.
///
/// ```
/// use fidelake_core::json::canonical_number;
/// assert_eq!(canonical_number("25.0"), "25");
/// assert_eq!(canonical_number("1.50E-3"), "0.0015");
/// assert_eq!(canonical_number("18446744073709551617"), "18446744073709551617");
/// ```
#[must_use]
pub fn canonical_number(text: &str) -> Cow<'_, str> {
    const PLAIN: i64 = 64;
    let bytes = text.as_bytes();
    let digits = bytes.len() - usize::from(bytes.first() == Some(&b'-'));
    let plain_integer = bytes.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    if plain_integer && digits as i64 <= PLAIN && text != "-0" {
        return Cow::Borrowed(text);
    }
    match text {
        "NaN" | "-NaN" | "nan" => return Cow::Borrowed("NaN"),
        "Infinity" | "inf" => return Cow::Borrowed("Infinity"),
        "-Infinity" | "-inf" => return Cow::Borrowed("-Infinity"),
        _ => {}
    }
    let Some(number) = Decimal::parse(text) else {
        return Cow::Owned(text.to_ascii_lowercase());
    };
    let digits = number.digits.as_str();
    let mut out = String::with_capacity(digits.len() + 8);
    if number.negative {
        out.push('-');
    }
    let (len, exponent) = (digits.len() as i64, number.exponent);
    if digits.is_empty() {
        out.push('0');
    } else if exponent >= len && exponent <= PLAIN {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', (exponent - len) as usize));
    } else if exponent > 0 && exponent < len && len <= PLAIN {
        out.push_str(&digits[..exponent as usize]);
        out.push('.');
        out.push_str(&digits[exponent as usize..]);
    } else if exponent <= 0 && len - exponent <= PLAIN {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent) as usize));
        out.push_str(digits);
    } else {
        out.push_str(&digits[..1]);
        if len > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        out.push('e');
        out.push_str(&(exponent - 1).to_string());
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_numbers_share_one_spelling() {
        let long_ones = "1".repeat(70);
        for (spellings, canonical) in [
            (vec!["1", "1.0", "1e0", "10e-1", "0.1E1", "1.000"], "1"),
            (vec!["0", "-0", "0.0", "-0.0e5"], "0"),
            (vec!["-12.5", "-1.25e1", "-125E-1"], "-12.5"),
            (vec!["1e400", "10e399", "1.0e400"], "1e400"),
            (vec!["0.1", "0.10", "1e-1"], "0.1"),
            (vec!["1e-80"], "1e-80"),
            (
                vec!["9007199254740993", "9007199254740993.0"],
                "9007199254740993",
            ),
            (vec!["NaN"], "NaN"),
        ] {
            for text in spellings {
                assert_eq!(canonical_number(text), canonical, "{text}");
            }
        }
        let long = canonical_number(&long_ones).into_owned();
        assert_eq!(long, format!("1.{}e69", "1".repeat(69)));
        assert_eq!(canonical_number(&format!("{long_ones}.0")), long);
    }

    #[test]
    fn flags_name_what_a_float_would_lose() {
        let names = |t: &str| flags(t).names().collect::<Vec<_>>().join(",");
        assert_eq!(names("9007199254740992"), "");
        assert_eq!(names("9007199254740993"), "big_integer");
        assert_eq!(
            names("12345678901234567000"),
            "big_integer,possibly_rounded"
        );
        assert_eq!(names("1e400"), "infinity");
        assert_eq!(names("1e40"), "");
    }

    proptest! {
        #[test]
        fn canonical_keeps_the_value(mantissa in -1_000_000i64..1_000_000, exponent in -30i32..30) {
            let text = format!("{mantissa}e{exponent}");
            let canonical = canonical_number(&text).into_owned();
            prop_assert_eq!(Decimal::parse(&canonical), Decimal::parse(&text));
            prop_assert_eq!(canonical_number(&canonical).into_owned(), canonical);
        }

        #[test]
        fn order_is_that_of_floats(a in -1e6f64..1e6, b in -1e6f64..1e6) {
            let (x, y) = (Decimal::parse(&format!("{a}")).unwrap(), Decimal::parse(&format!("{b}")).unwrap());
            prop_assert_eq!(Some(x.cmp(&y)), a.partial_cmp(&b));
        }
    }
}
