//! The value of a cell, from which its text on the screen follows.

use std::fmt;

use crate::format;
use crate::model::Clock;
use crate::units::Ticks;

/// The value of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// The line has no value in this column.
    Nothing,
    /// The value is being computed.
    Awaited,
    /// The value is not computed while the trace grows.
    Later,
    Text(String),
    Count(u64),
    /// How much a count has changed.
    CountChange(i64),
    Bytes(u64),
    /// How much a size has changed.
    Change(i64),
    /// A moment, also in seconds since the start of the trace.
    Moment(Ticks, f64),
    /// A duration in seconds.
    Duration(f64),
    Address(u64),
    /// An average count.
    Average(f64),
    /// A fraction of a whole.
    Part(f64),
    /// An id, without thousands separators.
    Number(u64),
}

impl Value {
    /// A text, if there is one.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A moment of a trace with this clock.
    pub fn moment(at: Ticks, clock: &Clock) -> Self {
        Self::Moment(at, clock.seconds(at))
    }

    /// Whether it is a number equal to zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Count(0) | Self::CountChange(0) | Self::Bytes(0) | Self::Change(0))
            || matches!(self, Self::Average(0.0) | Self::Part(0.0))
    }

    /// The change in bytes; 0 for any other value.
    pub fn change(&self) -> i64 {
        if let Self::Change(change) = self { *change } else { 0 }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Awaited => f.write_str("\u{2026}"),
            Self::Later => f.write_str("\u{2013}"),
            Self::Text(text) => f.write_str(&format::plain(text)),
            Self::Count(n) => f.write_str(&format::count(*n)),
            Self::CountChange(n) => f.write_str(&format::signed_count(*n)),
            Self::Bytes(n) => f.write_str(&format::bytes(*n)),
            Self::Change(n) => f.write_str(&format::signed_bytes(*n)),
            Self::Moment(at, seconds) => f.write_str(&format::moment(*at, *seconds)),
            Self::Duration(seconds) => f.write_str(&format::duration(*seconds)),
            Self::Average(n) => write!(f, "{n:.2}"),
            Self::Part(part) => f.write_str(&format::percent(*part)),
            Self::Number(n) => write!(f, "{n}"),
            Self::Address(address) => write!(f, "{address:#x}"),
        }
    }
}
