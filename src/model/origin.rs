//! Who wrote an event, and when it is replayed.

use crate::units::{Pid, Ticks, Tid};

/// Who acts now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Raw time of the event.
    pub(super) raw: i64,
    /// When it happens: what comes later than its time allows happens when it comes.
    pub(super) time: Ticks,
    pub(super) pid: Pid,
    pub(super) tid: Tid,
}
