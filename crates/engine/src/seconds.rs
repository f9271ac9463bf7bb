//! Times as the user writes them, on the command line and in rules: seconds since the trace start with up to nine
//! decimals. They are parsed digit by digit, so that no tick is lost to binary fractions.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::model::Clock;
use crate::units::Ticks;

/// A number of seconds, exact to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Seconds {
    nanos: i128,
}

const DECIMALS: usize = 9;
const NANOS_PER_SECOND: i128 = 1_000_000_000;
/// Maximum number of digits before the point; no clock reaches a longer number.
const MAX_WHOLE_DIGITS: usize = 18;

const WANTED: &str = "expected seconds such as 12.5, with at most nine decimals, or a time such as 300ms or 2min";

/// Units of times, and nanoseconds in each.
const UNITS: [(&str, i128); 8] = [
    ("", NANOS_PER_SECOND),
    ("s", NANOS_PER_SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000), // as it is printed
    ("ns", 1),
    ("min", 60 * NANOS_PER_SECOND),
    ("h", 3600 * NANOS_PER_SECOND),
];

impl Seconds {
    /// The nearest tick; halves are rounded away from zero.
    pub fn ticks(self, clock: &Clock) -> Ticks {
        clock.nearest_tick(self.nanos)
    }
}

impl Seconds {
    /// This length as a duration; `None` if it is negative or too long for one.
    pub fn duration(self) -> Option<Duration> {
        let nanos = u128::try_from(self.nanos).ok()?;
        let seconds = u64::try_from(nanos / NANOS_PER_SECOND as u128).ok()?;
        Some(Duration::new(seconds, (nanos % NANOS_PER_SECOND as u128) as u32))
    }
}

impl fmt::Display for Seconds {
    /// Formats the time so that it can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, nanos) = (if self.nanos < 0 { "-" } else { "" }, self.nanos.unsigned_abs());
        let (whole, fraction) = (nanos / NANOS_PER_SECOND as u128, nanos % NANOS_PER_SECOND as u128);
        match format!("{fraction:0DECIMALS$}").trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            decimals => write!(f, "{sign}{whole}.{decimals}"),
        }
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (negative, number) = match text.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let unit = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (digits, unit) = (&number[..unit], number[unit..].trim_start());
        let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let &(_, nanos_per_unit) = unit.ok_or(WANTED)?;
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = [whole, decimals].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
        if !all_digits || (whole.is_empty() && decimals.is_empty()) || decimals.len() > DECIMALS {
            return Err(WANTED.to_owned());
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > MAX_WHOLE_DIGITS {
            return Err("that is longer than any trace".to_owned());
        }
        let number = |digits: &str| digits.bytes().fold(0i128, |n, b| n * 10 + i128::from(b - b'0'));
        let fraction = number(&format!("{decimals:0<DECIMALS$}"));
        // To the nearest nanosecond.
        let nanos = number(whole) * nanos_per_unit + (fraction * nanos_per_unit + NANOS_PER_SECOND / 2) / NANOS_PER_SECOND;
        if nanos >= 10i128.pow(MAX_WHOLE_DIGITS as u32) * NANOS_PER_SECOND {
            return Err("that is longer than any trace".to_owned());
        }
        Ok(Self { nanos: if negative { -nanos } else { nanos } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(text: &str, frequency: u64) -> i64 {
        text.parse::<Seconds>().unwrap().ticks(&Clock { frequency, start_time: 0 }).0
    }

    #[test]
    fn decimals_are_exact_on_a_clock_of_10_mhz() {
        assert_eq!(ticks("12.5", 10_000_000), 125_000_000);
        assert_eq!(ticks("0.0000001", 10_000_000), 1);
        assert_eq!(ticks("107374182.4000001", 10_000_000), 1_073_741_824_000_001, "not a binary fraction");
        assert_eq!(ticks("-3", 10_000_000), -30_000_000);
        assert_eq!(ticks(".5", 10), 5);
        assert_eq!(ticks("7.", 10), 70);
        assert_eq!(ticks("+007", 10), 70);
    }

    #[test]
    fn units_are_those_in_which_times_are_printed() {
        let nanos = |text: &str| text.parse::<Seconds>().unwrap().nanos;
        assert_eq!(nanos("300ms"), 300_000_000);
        assert_eq!(nanos("1.5 s"), 1_500_000_000);
        assert_eq!(nanos("2min"), 120_000_000_000);
        assert_eq!(nanos("-34.5 \u{b5}s"), -34_500);
        assert_eq!((nanos("250NS"), nanos("0.4ns"), nanos("0.5ns"), nanos("1h")), (250, 0, 1, 3_600_000_000_000));
    }

    #[test]
    fn they_are_written_as_they_are_read() {
        for text in ["0", "12.5", "-3", "107374182.4000001", "0.000000001", "-0.5", "999999999999999999"] {
            assert_eq!(text.parse::<Seconds>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn times_between_two_ticks_go_to_the_nearest() {
        assert_eq!(ticks("0.00000004", 10_000_000), 0);
        assert_eq!(ticks("0.00000005", 10_000_000), 1);
        assert_eq!(ticks("-0.00000005", 10_000_000), -1);
        assert_eq!(ticks("0.333333333", 3), 1);
        assert_eq!(ticks("1.499999999", 1), 1);
    }

    #[test]
    fn times_beyond_the_clock_are_clamped() {
        assert_eq!(ticks("999999999999999999.999999999", 1 << 40), i64::MAX - 1);
        assert_eq!(ticks("-999999999999999999", 1 << 40), i64::MIN + 1);
    }

    #[test]
    fn what_is_no_decimal_number_is_refused() {
        let refused = [
            "",
            "-",
            ".",
            "+-1",
            "1e3",
            "nan",
            "inf",
            "1,5",
            "0x10",
            " 1",
            "1.0000000001",
            "1.2.3",
            "1234567890123456789",
            "ms",
            "1 m",
            "1sec",
            "1 s s",
            "999999999999999999min",
        ];
        for text in refused {
            assert!(text.parse::<Seconds>().is_err(), "{text:?}");
        }
    }
}
