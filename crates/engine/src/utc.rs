//! FILETIME (100 ns since 1601, UTC) as text.
//!
//! The civil date is computed from the day number with Howard Hinnant's `civil_from_days` (public domain). There are no
//! time zones and no leap seconds, as FILETIME has neither.

/// The start of 1970, from which Unix counts.
pub const UNIX_EPOCH: i64 = 116_444_736_000_000_000;

const TICKS_PER_SECOND: i64 = 10_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1601-01-01.
const DAYS_TO_1601: i64 = 584_694;

/// Formats a time as RFC 3339 with as many decimals as needed; `None` for "unknown" (0) and for times outside the years
/// 1601 to 9999.
pub fn rfc3339(filetime: i64) -> Option<String> {
    if filetime <= 0 {
        return None;
    }
    let seconds = filetime / TICKS_PER_SECOND;
    let (year, month, day) = civil(seconds / SECONDS_PER_DAY);
    if year > 9999 {
        return None;
    }
    let of_day = seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let decimals = match filetime % TICKS_PER_SECOND {
        0 => String::new(),
        rest => format!(".{rest:07}").trim_end_matches('0').to_owned(),
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{decimals}Z"))
}

/// Converts a time to nanoseconds since 1970; `None` for "unknown" (0) and outside the years 1677 to 2262.
pub fn unix_nanos(filetime: i64) -> Option<i64> {
    const TO_1970: i64 = 11_644_473_600 * TICKS_PER_SECOND;
    (filetime > 0).then_some(filetime - TO_1970)?.checked_mul(1_000_000_000 / TICKS_PER_SECOND)
}

/// Year, month and day of the day number counted from 1601-01-01. Years are
/// counted from March, so that the leap day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097; // 400 years
    let day = day + DAYS_TO_1601;
    let (era, of_era) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_have_their_date() {
        assert_eq!(rfc3339(UNIX_EPOCH).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(TICKS_PER_SECOND).unwrap(), "1601-01-01T00:00:01Z");
        let leap_day = UNIX_EPOCH + 951_827_696 * TICKS_PER_SECOND;
        assert_eq!(rfc3339(leap_day).unwrap(), "2000-02-29T12:34:56Z");
        let new_year = UNIX_EPOCH + 1_767_225_600 * TICKS_PER_SECOND;
        assert_eq!(rfc3339(new_year).unwrap(), "2026-01-01T00:00:00Z");
        assert_eq!(rfc3339(new_year - 1).unwrap(), "2025-12-31T23:59:59.9999999Z");
    }

    #[test]
    fn decimals_are_as_many_as_needed() {
        assert_eq!(rfc3339(UNIX_EPOCH + 5_000_000).unwrap(), "1970-01-01T00:00:00.5Z");
        assert_eq!(rfc3339(UNIX_EPOCH + 1).unwrap(), "1970-01-01T00:00:00.0000001Z");
    }

    #[test]
    fn unknown_and_absurd_times_have_no_text() {
        assert_eq!(rfc3339(0), None);
        assert_eq!(rfc3339(-5), None);
        assert_eq!(rfc3339(i64::MAX), None);
    }
}
