//! Lifetime classes of an interval (WPA's *Type*): allocated inside or outside, freed inside or outside. And their
//! effect on the outstanding bytes between its edges (WPA's *Impacting Type*).

use crate::units::{Interval, Ticks};

/// WPA's *Type*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LifetimeClass {
    /// Allocated inside, freed inside.
    Aifi,
    /// Allocated inside, freed outside (later or never).
    Aifo,
    /// Allocated outside (before), freed inside.
    Aofi,
    /// Allocated outside (before), freed outside.
    Aofo,
}

/// The vocabulary for lifetime classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Words {
    /// WPA's names.
    #[default]
    Wpa,
    /// Plain words that need no explanation, with WPA's names behind them.
    Plain,
}

/// WPA's *Impacting Type*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ImpactingType {
    /// Allocated and freed inside the interval: no effect at the edges.
    Transient,
    /// Changes the outstanding bytes between the edges.
    Impacting,
    /// Outstanding during the whole interval.
    Persistent,
}

impl LifetimeClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Aifi, Self::Aifo, Self::Aofi, Self::Aofo];

    /// Returns the class of a lifetime in an interval; `None` if it does not overlap: dead before it or born after it.
    /// A block that dies at the left edge was alive there and counts; one that dies at the right edge dies outside.
    #[inline]
    pub fn of(birth: Ticks, death: Ticks, interval: Interval) -> Option<Self> {
        if death < interval.from || birth >= interval.to {
            return None;
        }
        Some(match (birth >= interval.from, death < interval.to) {
            (true, true) => Self::Aifi,
            (true, false) => Self::Aifo,
            (false, true) => Self::Aofi,
            (false, false) => Self::Aofo,
        })
    }

    /// Returns the effect of the class between the edges.
    #[inline]
    pub fn impacting(self) -> ImpactingType {
        match self {
            Self::Aifi => ImpactingType::Transient,
            Self::Aifo | Self::Aofi => ImpactingType::Impacting,
            Self::Aofo => ImpactingType::Persistent,
        }
    }

    /// Returns WPA's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aifi => "AIFI",
            Self::Aifo => "AIFO",
            Self::Aofi => "AOFI",
            Self::Aofo => "AOFO",
        }
    }

    /// Returns the plain words, with WPA's name in parentheses.
    pub fn words(self) -> &'static str {
        match self {
            Self::Aifi => "Came and went (AIFI)",
            Self::Aifo => "Allocated and kept (AIFO)",
            Self::Aofi => "Given back (AOFI)",
            Self::Aofo => "Stayed (AOFO)",
        }
    }

    /// Returns the name in a vocabulary; plain words come without WPA's name.
    pub fn short(self, words: Words) -> &'static str {
        match (words, self) {
            (Words::Wpa, _) => self.name(),
            (Words::Plain, Self::Aifi) => "Came and went",
            (Words::Plain, Self::Aifo) => "Allocated and kept",
            (Words::Plain, Self::Aofi) => "Given back",
            (Words::Plain, Self::Aofo) => "Stayed",
        }
    }

    /// Returns the sign of the change of outstanding bytes: up, none or down.
    pub fn sign(self) -> i64 {
        match self {
            Self::Aifo => 1,
            Self::Aofi => -1,
            Self::Aifi | Self::Aofo => 0,
        }
    }

    /// Returns the definition of the class.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Aifi => "allocated inside the interval, freed inside it",
            Self::Aifo => "allocated inside the interval, freed later or never",
            Self::Aofi => "allocated before the interval, freed inside it",
            Self::Aofo => "allocated before the interval, freed later or never",
        }
    }
}

impl ImpactingType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Impacting, Self::Transient, Self::Persistent];

    /// Returns WPA's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "Transient",
            Self::Impacting => "Impacting",
            Self::Persistent => "Persistent",
        }
    }

    /// Returns the plain words, with WPA's name, for a change of the outstanding bytes by `change`.
    pub fn words(self, change: i64) -> &'static str {
        match self {
            Self::Transient => "Came and went (Transient)",
            Self::Impacting if change < 0 => "Shrank (Impacting)",
            Self::Impacting => "Grew (Impacting)",
            Self::Persistent => "Stayed (Persistent)",
        }
    }

    /// Returns the definition of the type.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Transient => "came and went inside the interval: no change between its edges",
            Self::Impacting => "changed what is outstanding between the interval's edges",
            Self::Persistent => "outstanding during the whole interval",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LifetimeClass::{Aifi, Aifo, Aofi, Aofo};

    #[test]
    fn edges_are_half_open() {
        let interval = Interval { from: Ticks(10), to: Ticks(20) };
        let class = |birth, death| LifetimeClass::of(Ticks(birth), Ticks(death), interval);
        assert_eq!(class(10, 10), Some(Aifi));
        assert_eq!(class(10, 19), Some(Aifi));
        assert_eq!(class(10, 20), Some(Aifo));
        assert_eq!(class(19, i64::MAX), Some(Aifo));
        assert_eq!(class(9, 10), Some(Aofi), "alive at the left edge, dies inside");
        assert_eq!(class(9, 20), Some(Aofo));
        assert_eq!(class(9, 9), None);
        assert_eq!(class(20, 30), None);
        assert_eq!(class(i64::MIN, i64::MAX), Some(Aofo));
    }

    #[test]
    fn an_empty_interval_sees_what_is_alive_at_its_edge() {
        let edge = Interval { from: Ticks(10), to: Ticks(10) };
        assert_eq!(LifetimeClass::of(Ticks(9), Ticks(10), edge), Some(Aofo));
        assert_eq!(LifetimeClass::of(Ticks(10), Ticks(11), edge), None);
    }
}
