//! Rows whose stack is given by a key.
//!
//! The key came with the event but was given a little after it, and in between a
//! definition may end what the key stood for before. So the rows wait until a
//! definition or enough of them come, and then are told their site all at once.

use super::super::stack::StackRef;
use super::super::{HeapId, ProcessId, RowId, SiteId};
use super::{Builder, Origin, SiteKey};
use crate::units::Ticks;

/// So many wait at least.
const TOGETHER: usize = 256;

#[derive(Clone, Copy, Debug)]
struct KeyedRow {
    row: RowId,
    heap: HeapId,
    caller: ProcessId,
    birth: Ticks,
    key: u64,
    /// Raw time at which the key was given.
    time: i64,
}

/// The rows that wait.
#[derive(Debug, Default)]
pub(super) struct Keyed {
    rows: Vec<KeyedRow>,
    /// How many are too many; more if many have to wait long.
    limit: usize,
}

impl Keyed {
    /// Rows have new numbers, or none.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.rows.retain_mut(|keyed| number(keyed.row).map(|row| keyed.row = row).is_some());
    }
}

impl Builder {
    /// A row waits for the meaning of its key.
    pub(super) fn await_key(&mut self, from: Origin, row: RowId, heap: HeapId, key: u64, time: i64) {
        let caller = self.heaps.list[heap.0 as usize].process;
        self.keyed.rows.push(KeyedRow { row, heap, caller, birth: from.time, key, time });
        if self.keyed.rows.len() > self.keyed.limit {
            self.settle_keyed(from.raw);
            self.keyed.limit = TOGETHER.max(self.keyed.rows.len() * 2);
        }
    }

    /// Tells the rows whose key was given until `time` their site.
    pub(super) fn settle_keyed(&mut self, time: i64) {
        let mut rows = std::mem::take(&mut self.keyed.rows);
        // All look-ups are begun before the first is needed.
        let touched = rows.iter().fold(0, |sum, keyed| sum ^ self.stacks.touch_key(keyed.key));
        std::hint::black_box(touched);
        rows.retain(|keyed| {
            if keyed.time > time {
                return true;
            }
            let site = self.keyed_site(keyed);
            self.rows.set_site(keyed.row, site);
            false
        });
        self.keyed.rows = rows;
    }

    fn keyed_site(&mut self, keyed: &KeyedRow) -> SiteId {
        let &KeyedRow { heap, caller, birth, key, time, .. } = keyed;
        let (stack, known) = self.stacks.key_and_sites(key, time);
        let Some(known) = known else { return self.site(heap, stack, caller, birth) };
        if let Some(site) = known.of(heap) {
            return site;
        }
        if known.is_full() {
            return self.site(heap, stack, caller, birth);
        }
        // Nobody else can have it: what a key stands for is new with each definition.
        let site = SiteId(self.sites.len() as u32);
        self.sites.push((SiteKey { heap, stack, caller }, birth));
        known.add(heap, site);
        site
    }

    /// Gives rows that still wait a site without a stack, for a publication.
    pub(super) fn name_keyed(&mut self) {
        self.settle_keyed(self.trace_start.saturating_add(self.now.0));
        for i in 0..self.keyed.rows.len() {
            let KeyedRow { row, heap, caller, birth, .. } = self.keyed.rows[i];
            let site = self.site(heap, StackRef::NONE, caller, birth);
            self.rows.set_site(row, site);
        }
    }
}

impl SiteId {
    /// Until the site of a row is settled; never in a published trace.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);
}
