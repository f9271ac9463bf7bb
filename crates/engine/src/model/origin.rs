//! Who wrote an event, and when it is replayed.

use super::{Row, SiteId};
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

impl Origin {
    /// The row of a block or range, by address and size, that it allocates at a site.
    pub(super) fn row(&self, (address, size): (u64, u64), site: SiteId) -> Row {
        let (birth, death, thread) = (self.time, Ticks::NEVER, self.tid);
        Row { address, size, birth, death, site, thread, freed_at: None, is_cross_thread: false }
    }
}
