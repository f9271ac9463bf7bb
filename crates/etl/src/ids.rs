//! Ids of processes and threads, and the pointer size of an event.

use std::fmt;

/// Process id as the trace gives it. Windows uses an id again once its process has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

/// Thread id as the trace gives it. Windows uses an id again once its thread has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tid(pub u32);

impl Pid {
    /// The process of an event that does not name one.
    pub const NONE: Self = Self(u32::MAX);

    /// Whether the event named its process.
    #[inline]
    pub fn is_known(self) -> bool {
        self != Self::NONE
    }
}

impl Tid {
    /// The thread of an event that does not name one.
    pub const NONE: Self = Self(u32::MAX);

    /// Whether the event named its thread.
    #[inline]
    pub fn is_known(self) -> bool {
        self != Self::NONE
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Size of a pointer in one event's payload; a 64-bit trace can hold 32-bit events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PointerSize {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl PointerSize {
    /// Number of bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The first address that belongs to the kernel.
    #[inline]
    pub fn kernel_start(self) -> u64 {
        match self {
            Self::Four => 0x8000_0000,
            Self::Eight => 0x8000_0000_0000_0000,
        }
    }
}
