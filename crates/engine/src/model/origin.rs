//! Who wrote an event, and when it is replayed.

use crate::units::{Pid, Ticks, Tid};

/// The origin of the event that is replayed now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Raw time of the event.
    pub(super) raw: i64,
    /// When it happens: an event that comes late happens when it comes.
    pub(super) time: Ticks,
    pub(super) pid: Pid,
    pub(super) tid: Tid,
}
