//! HTTP headers that more than one kind of environment reads.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How long the server asks us to wait: seconds, or the time at which to come back.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    wait_of(value, SystemTime::now())
}

fn wait_of(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = chrono::DateTime::parse_from_rfc2822(value).ok()?;
    let since = SystemTime::from(then).duration_since(now);
    Some(since.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_420);
        assert_eq!(wait_of("120", now), Some(Duration::from_secs(120)));
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(wait_of(date, now), Some(Duration::from_secs(60)));
        let later = now + Duration::from_secs(3600);
        assert_eq!(wait_of(date, later), Some(Duration::ZERO));
        assert_eq!(wait_of("-1", now), None);
        assert_eq!(wait_of("soon", now), None);
    }
}
