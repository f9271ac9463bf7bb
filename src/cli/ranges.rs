//! Half-open ranges on the command line: `A..B` for times, sizes and lifetimes, where either end may be left out; and
//! the condition for when rows were freed.

use std::str::FromStr;

use crate::format;
use crate::model::Trace;
use crate::query::Bounds;
use crate::time_spec::{TimeSpec, split_range};
use crate::units::Ticks;

/// A range as it was written, with its ends in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range<T>(pub(super) Bounds<T>);

impl<T: FromStr<Err = String> + PartialOrd> FromStr for Range<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, to)) = split_range(text) else {
            return Err("expected a range such as 1..2, ..2 or 1..".to_owned());
        };
        let end = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        let (from, to) = (end(from)?, end(to)?);
        if let (Some(from), Some(to)) = (&from, &to)
            && from > to
        {
            return Err(REVERSED.to_owned());
        }
        Ok(Self(Bounds { from, to }))
    }
}

const REVERSED: &str = "the range ends before it starts; swap its ends";

impl Range<TimeSpec> {
    /// Resolves the range in a trace; frame numbers are those of `process`.
    pub(super) fn ticks(&self, trace: &Trace, process: Option<&str>) -> Result<Bounds<Ticks>, String> {
        let end = |given: &Option<TimeSpec>| given.as_ref().map(|moment| moment.ticks(trace, process)).transpose();
        match (end(&self.0.from)?, end(&self.0.to)?) {
            (Some(from), Some(to)) if from > to => Err(REVERSED.to_owned()),
            (from, to) => Ok(Bounds { from, to }),
        }
    }
}

/// A size in bytes, written as [`format::parse_bytes`] reads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Bytes(pub(super) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        format::parse_bytes(text).map(Self)
    }
}

/// A condition for when rows were freed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Freed {
    pub(super) within: Option<Range<TimeSpec>>,
    pub(super) or_never: bool,
}

impl FromStr for Freed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self { within: None, or_never: true });
        }
        let (range, or_never) = text.strip_suffix("|never").map_or((text, false), |range| (range, true));
        Ok(Self { within: Some(range.parse()?), or_never })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Option<(Option<u64>, Option<u64>)> {
        let Range(Bounds { from, to }) = text.parse::<Range<Bytes>>().ok()?;
        Some((from.map(|b| b.0), to.map(|b| b.0)))
    }

    #[test]
    fn ranges_may_lack_an_end_and_be_empty_but_not_reversed() {
        assert_eq!(sizes("1..2"), Some((Some(1), Some(2))));
        assert_eq!(sizes("..64K"), Some((None, Some(64 << 10))));
        assert_eq!(sizes("5M.."), Some((Some(5 << 20), None)));
        assert_eq!(sizes("1G..1g"), Some((Some(1 << 30), Some(1 << 30))));
        assert_eq!(sizes("1.5K..10 MB"), Some((Some(1536), Some(10 << 20))));
        assert_eq!(sizes("0.1kb..8GiB"), Some((Some(102), Some(8 << 30))));
        assert_eq!(sizes(".."), Some((None, None)));
        let refused = [
            "",
            "1",
            "2..1",
            "1K..1",
            "a..b",
            "1..x",
            "-1..2",
            "1.5..",
            "1.5X..",
            "1.K..",
            "K..",
            "1...2",
            "1..2..3",
            "1..2|never",
            "never",
            "17179869184G..",
            " 1..2",
        ];
        for text in refused {
            assert_eq!(sizes(text), None, "{text:?}");
        }
    }

    #[test]
    fn ends_of_times_are_told_by_their_points() {
        let times = |text: &str| text.parse::<Range<TimeSpec>>().ok().map(|range| (range.0.from, range.0.to));
        let t = |text: &str| Some(text.parse::<TimeSpec>().unwrap());
        assert_eq!(times("1.5..2.25"), Some((t("1.5"), t("2.25"))));
        assert_eq!(times(".5...75"), Some((t("0.5"), t("0.75"))));
        assert_eq!(times("-1.."), Some((t("-1"), None)));
        assert_eq!(times("mark:a b..frame:3"), Some((t("mark:a b"), t("frame:3"))));
        assert_eq!(times("frame:3..frame:2"), None);
        assert_eq!(times("2.000000001..2"), None);
        assert_eq!(times("nan..2"), None);
    }

    #[test]
    fn what_was_never_freed_can_be_asked_for_alone_and_with_any_range() {
        let freed = |text: &str| text.parse::<Freed>().ok().map(|freed| (freed.within.is_some(), freed.or_never));
        assert_eq!(freed("never"), Some((false, true)));
        assert_eq!(freed("1..2"), Some((true, false)));
        assert_eq!(freed("1..|never"), Some((true, true)));
        assert_eq!(freed("1..1|never"), Some((true, true)));
        for text in
            ["", "|never", "never|never", "never|1..2", "1|never", "2..1|never", "1..2|Never", "1..2|never|never", "NEVER"]
        {
            assert_eq!(freed(text), None, "{text:?}");
        }
    }
}
