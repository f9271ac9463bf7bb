//! The unit of the widths of a flame graph, and its text.

use crate::format;

/// The label and unit of the widths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    pub label: &'static str,
    pub unit: Unit,
}

/// The unit of the widths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    Bytes,
    /// Bytes, with a sign; with the meaning of a negative one, in words.
    Change {
        less: &'static str,
    },
    /// Allocations.
    Count,
    /// CPU samples.
    Samples(SampledIn),
}

/// The time that samples stand for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampledIn {
    /// Seconds of one sample.
    pub seconds: f64,
    /// Seconds of the interval.
    pub interval: f64,
    /// Whether the own samples of a node are those of its function itself.
    pub tells_own: bool,
}

impl Measure {
    /// The meaning of the colour of boxes that became smaller, if widths are changes.
    pub fn less(self) -> Option<&'static str> {
        match self.unit {
            Unit::Change { less } => Some(less),
            Unit::Bytes | Unit::Count | Unit::Samples(_) => None,
        }
    }
}

impl Unit {
    /// The text of a number.
    pub fn value(self, net: i64) -> String {
        match self {
            Self::Bytes => format::bytes(net.unsigned_abs()),
            Self::Change { .. } => format::signed_bytes(net),
            Self::Count | Self::Samples(_) => format::count(net.unsigned_abs()),
        }
    }
}

impl SampledIn {
    /// The time that samples stand for, and the share of a processor.
    pub fn time(&self, samples: i64) -> String {
        let seconds = samples as f64 * self.seconds;
        let time = format::duration(seconds);
        if self.interval > 0.0 { format!("{time}, {} of a CPU", format::percent(seconds / self.interval)) } else { time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_read_as_time_and_as_part_of_a_processor() {
        let sampled = SampledIn { seconds: 0.01, interval: 2.0, tells_own: true };
        assert_eq!(sampled.time(50), "500.000 ms, 25.0 % of a CPU");
        assert_eq!(sampled.time(300), "3.000 s, 150.0 % of a CPU");
        assert_eq!(SampledIn { interval: 0.0, ..sampled }.time(1), "10.000 ms");
        assert_eq!((Unit::Samples(sampled).value(1_234), Unit::Bytes.value(2_048)), ("1,234".to_owned(), "2.00 KB".to_owned()));
    }
}
