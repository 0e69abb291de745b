//! Times as files write them. A time without a zone is kept, but never compared.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDateTime};
use fidelake_core::json::{Kind, Node};

/// A time as given and as read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Time<'d> {
    pub(crate) raw: Cow<'d, str>,
    /// Microseconds since 1970 UTC; `None` without a zone, or if it is no time.
    pub(crate) micros: Option<i64>,
    /// A time, but of an unknown zone.
    pub(crate) zone_unknown: bool,
}

impl<'d> Time<'d> {
    /// Reads ISO 8601 text, or a number of seconds since 1970.
    pub(crate) fn of(node: Node<'d>) -> Option<Self> {
        match node.kind() {
            Kind::String => Some(Self::parse(node.as_str()?)),
            Kind::Number => {
                let micros = node.as_f64().map(|s| s * 1e6).filter(|m| m.abs() < 9e18);
                let micros = micros.map(|m| m.round() as i64);
                Some(Self {
                    raw: Cow::Borrowed(node.raw()),
                    micros,
                    zone_unknown: false,
                })
            }
            _ => None,
        }
    }

    pub(crate) fn parse(text: &'d str) -> Self {
        let trimmed = text.trim();
        // RFC 3339 wants a T; a space is common.
        let zoned = DateTime::parse_from_rfc3339(trimmed)
            .or_else(|_| DateTime::parse_from_str(trimmed, "%Y-%m-%d %H:%M:%S%.f%:z"))
            .or_else(|_| DateTime::parse_from_str(trimmed, "%Y-%m-%dT%H:%M:%S%.f%z"));
        let micros = zoned.ok().map(|t| t.timestamp_micros());
        let naive = || {
            ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
                .iter()
                .any(|format| NaiveDateTime::parse_from_str(trimmed, format).is_ok())
        };
        let zone_unknown = micros.is_none() && naive();
        Self {
            raw: Cow::Borrowed(text),
            micros,
            zone_unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zoned_times_become_numbers() {
        assert_eq!(
            Time::parse("1970-01-01T00:00:01.5Z").micros,
            Some(1_500_000)
        );
        assert_eq!(Time::parse("1970-01-01 01:00:00+01:00").micros, Some(0));
        let naive = Time::parse("2026-07-31T01:29:51.792455");
        assert!(naive.micros.is_none() && naive.zone_unknown);
        let no_time = Time::parse("yesterday");
        assert!(no_time.micros.is_none() && !no_time.zone_unknown);
    }
}
