//! The guided walks through the demo trace, by the question that each answers.

/// The question that a walk answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    Growth,
    Spike,
    Leak,
}

/// A walk in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walking {
    pub walk: Walk,
    pub at: usize,
}

impl Walk {
    pub const ALL: [Self; 3] = [Self::Growth, Self::Spike, Self::Leak];

    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "Growth",
            Self::Spike => "Spike",
            Self::Leak => "Leak",
        }
    }

    /// The question that the walk answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Growth => "Memory went up and stayed. What was that, and who wanted it?",
            Self::Spike => "Memory came and went. How often, how long, and for what?",
            Self::Leak => "Memory grows for ever. What is never freed?",
        }
    }
}
