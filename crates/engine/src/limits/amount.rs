//! A number that a limit allows, or that was measured.

use serde::Serialize;
use serde::ser::Serializer;

/// A number of bytes or blocks, or a rate in bytes per second.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// A whole number.
    Exact(i128),
    /// A rate per second.
    Rate(f64),
}

impl Amount {
    fn as_f64(self) -> f64 {
        match self {
            Self::Exact(n) => n as f64,
            Self::Rate(rate) => rate,
        }
    }

    /// Returns whether this amount is larger than another.
    pub fn is_above(self, most: Self) -> bool {
        match (self, most) {
            (Self::Exact(a), Self::Exact(b)) => a > b,
            (a, b) => a.as_f64() > b.as_f64(),
        }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        !self.is_above(*other) && !other.is_above(*self)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Exact(n) => match u64::try_from(n) {
                Ok(n) => to.serialize_u64(n),
                Err(_) => to.serialize_i64(i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })),
            },
            Self::Rate(rate) => to.serialize_f64(rate),
        }
    }
}
