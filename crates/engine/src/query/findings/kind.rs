//! Kinds of findings.

/// Kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingKind {
    /// A place whose outstanding bytes climb through the interval.
    Growth,
    /// A lasting change of a source's level.
    Step,
    /// Similar transients of one place.
    Spikes,
    /// The peak of outstanding bytes of a layer of a process.
    Peak,
    /// Blocks alive when their process ended.
    AtExit,
    /// A place that allocates and frees far more bytes than it ever holds.
    Churn,
    /// Commit that no heap or tracker accounts for.
    UnexplainedCommit,
    /// Nearly empty pages of a heap or tracker.
    Fragmentation,
    /// A way of allocating that costs requests or bytes.
    Habit,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Growth,
        Self::Step,
        Self::Spikes,
        Self::Peak,
        Self::AtExit,
        Self::Churn,
        Self::UnexplainedCommit,
        Self::Fragmentation,
        Self::Habit,
    ];

    /// Returns the name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Step => "step",
            Self::Spikes => "spikes",
            Self::Peak => "peak",
            Self::AtExit => "at_exit",
            Self::Churn => "churn",
            Self::UnexplainedCommit => "unexplained_commit",
            Self::Fragmentation => "fragmentation",
            Self::Habit => "habit",
        }
    }
}
