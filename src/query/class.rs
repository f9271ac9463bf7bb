//! Lifetime classes of an interval: allocated inside or outside, freed inside or
//! outside (WPA's *Type*), and what they mean for its edges (WPA's *Impacting Type*).

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

/// What lifetime classes are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Words {
    /// As in WPA.
    #[default]
    Wpa,
    /// So that nobody has to look them up; WPA's stand behind.
    Plain,
}

/// WPA's *Impacting Type*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ImpactingType {
    /// Came and went: no trace at the edges.
    Transient,
    /// Changed what is outstanding between the edges.
    Impacting,
    /// Was there all the time.
    Persistent,
}

impl LifetimeClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Aifi, Self::Aifo, Self::Aofi, Self::Aofo];

    /// The class of a life in an interval, `None` if it takes no part: dead before
    /// it or born after it. A block that dies at the left edge was alive there and
    /// counts; one that dies at the right edge dies outside.
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

    /// What the class means for the edges.
    pub fn impacting(self) -> ImpactingType {
        match self {
            Self::Aifi => ImpactingType::Transient,
            Self::Aifo | Self::Aofi => ImpactingType::Impacting,
            Self::Aofo => ImpactingType::Persistent,
        }
    }

    /// WPA's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aifi => "AIFI",
            Self::Aifo => "AIFO",
            Self::Aofi => "AOFI",
            Self::Aofo => "AOFO",
        }
    }

    /// What it is called in plain words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Aifi => "Came and went (AIFI)",
            Self::Aifo => "Allocated and kept (AIFO)",
            Self::Aofi => "Given back (AOFI)",
            Self::Aofo => "Stayed (AOFO)",
        }
    }

    /// What it is called where WPA's names are behind it.
    pub fn short(self, words: Words) -> &'static str {
        match (words, self) {
            (Words::Wpa, _) => self.name(),
            (Words::Plain, Self::Aifi) => "Came and went",
            (Words::Plain, Self::Aifo) => "Allocated and kept",
            (Words::Plain, Self::Aofi) => "Given back",
            (Words::Plain, Self::Aofo) => "Stayed",
        }
    }

    /// By what it changes what is outstanding: up, not at all, down.
    pub fn sign(self) -> i64 {
        match self {
            Self::Aifo => 1,
            Self::Aofi => -1,
            Self::Aifi | Self::Aofo => 0,
        }
    }

    /// The name spelled out.
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

    /// WPA's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "Transient",
            Self::Impacting => "Impacting",
            Self::Persistent => "Persistent",
        }
    }

    /// What it is called in plain words, where it has changed what is outstanding by so much.
    pub fn words(self, change: i64) -> &'static str {
        match self {
            Self::Transient => "Came and went (Transient)",
            Self::Impacting if change < 0 => "Shrank (Impacting)",
            Self::Impacting => "Grew (Impacting)",
            Self::Persistent => "Stayed (Persistent)",
        }
    }

    /// The name spelled out.
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
