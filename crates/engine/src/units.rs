//! Types for ids and units, so that a tick is never added to a byte count and a process id is never used as an index.

pub use crate::etl::{Pid, PointerSize, Tid};

/// A moment on the capture's clock, in clock ticks since the trace start.
///
/// Ordinary events lie strictly between [`Ticks::BEFORE_TRACE`] and
/// [`Ticks::NEVER`]; both ends are reserved as markers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ticks(pub i64);

impl Ticks {
    /// The allocation time of a block that was live before the first event (rundown).
    pub const BEFORE_TRACE: Self = Self(i64::MIN);
    /// The free time of a block that was never freed.
    pub const NEVER: Self = Self(i64::MAX);

    /// Converts a raw clock value. Values too far away to be subtracted are clamped to the nearest ordinary moment.
    #[inline]
    pub fn from_raw(raw: i64, trace_start: i64) -> Self {
        // One less than the end, so that "one tick after the last event" exists.
        Self(raw.saturating_sub(trace_start).clamp(i64::MIN + 1, i64::MAX - 2))
    }

    /// The next tick.
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Half-open time range `[from, to)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Interval {
    /// Start (inclusive).
    pub from: Ticks,
    /// End (exclusive).
    pub to: Ticks,
}

impl Interval {
    /// The interval `[from, to)`; the edges are swapped if they are the wrong way round.
    #[inline]
    pub fn new(a: Ticks, b: Ticks) -> Self {
        Self { from: a.min(b), to: a.max(b) }
    }

    /// Whether an event at `t` happens inside.
    #[inline]
    pub fn contains(&self, t: Ticks) -> bool {
        self.from <= t && t < self.to
    }

    /// Length in ticks, saturating.
    #[inline]
    pub fn len(&self) -> i64 {
        self.to.0.saturating_sub(self.from.0)
    }

    /// Whether no event can happen inside.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.to <= self.from
    }
}

/// One layer of memory. Layers nest (tracker blocks live in commit or in a heap),
/// so their sizes are never added together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// Pages committed by VirtualAlloc.
    Commit,
    /// Blocks of Windows NT heaps.
    Heap,
    /// Blocks of named custom allocators.
    Tracker,
}

impl Layer {
    /// All layers, outermost first.
    pub const ALL: [Self; 3] = [Self::Commit, Self::Heap, Self::Tracker];

    /// Name in the machine interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Heap => "heap",
            Self::Tracker => "tracker",
        }
    }
}
