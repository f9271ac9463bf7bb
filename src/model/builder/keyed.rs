//! Rows, and frees, whose stack is given by a key.
//!
//! The key came with the event but was given a little after it, and in between a
//! definition may end what the key stood for before. So the rows wait until their key
//! is defined or enough of them came, and then are told their site all at once.

use super::super::pending::{Ended, Freed};
use super::super::stack::StackRef;
use super::super::{HeapId, ProcessId, RowId, SiteId};
use super::{Builder, Origin, SiteKey};
use crate::events::StackPart;
use crate::units::{Pid, Ticks};

/// So many wait at least.
const TOGETHER: usize = 256;

/// Whose stack it is.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Began(RowId),
    Freed(Ended),
}

#[derive(Clone, Copy, Debug)]
struct KeyedRow {
    owner: Owner,
    heap: HeapId,
    caller: ProcessId,
    /// When it began, or was freed.
    at: Ticks,
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
    keys: Keys,
    /// Whether a definition of the latest tick may be what one of them means.
    may_be_fresh: bool,
}

/// The keys of the rows that wait, and some more: a bit for each value of a hash.
#[derive(Debug)]
struct Keys([u64; Self::WORDS]);

impl Keys {
    const WORDS: usize = 64;

    fn place(key: u64) -> (usize, u64) {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((hash >> 58) as usize, 1 << (hash >> 52 & 63))
    }

    #[inline(always)]
    fn add(&mut self, key: u64) {
        let (word, bit) = Self::place(key);
        self.0[word] |= bit;
    }

    fn may_have(&self, key: u64) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word] & bit != 0
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self([0; Self::WORDS])
    }
}

impl Keyed {
    /// Rows have new numbers, or none.
    pub(super) fn renumber(&mut self, number: impl Fn(RowId) -> Option<RowId>) {
        self.rows.retain_mut(|keyed| match &mut keyed.owner {
            Owner::Began(row) => number(*row).map(|new| *row = new).is_some(),
            Owner::Freed(ended) => ended.renumber(&number),
        });
    }

    /// What frees ended.
    pub(super) fn freed(&mut self) -> impl Iterator<Item = &mut Ended> {
        self.rows.iter_mut().filter_map(|keyed| match &mut keyed.owner {
            Owner::Freed(ended) => Some(ended),
            Owner::Began(_) => None,
        })
    }
}

impl Builder {
    /// A row waits for the meaning of its key.
    #[inline(always)]
    pub(super) fn await_key(&mut self, from: Origin, row: RowId, heap: HeapId, key: u64, time: i64) {
        self.await_meaning(from, Owner::Began(row), heap, key, time);
    }

    /// The same for a free.
    pub(super) fn await_freeing_key(&mut self, from: Origin, freed: Freed, key: u64, time: i64) {
        self.await_meaning(from, Owner::Freed(freed.ended), freed.heap, key, time);
    }

    #[inline(always)]
    fn await_meaning(&mut self, from: Origin, owner: Owner, heap: HeapId, key: u64, time: i64) {
        let caller = self.heaps.list[heap.0 as usize].process;
        self.keyed.rows.push(KeyedRow { owner, heap, caller, at: from.time, key, time });
        self.keyed.keys.add(key);
        self.keyed.may_be_fresh |= self.stacks.is_fresh(time);
        if self.keyed.rows.len() > self.keyed.limit {
            self.settle_keyed(from.raw);
            self.keyed.limit = TOGETHER.max(self.keyed.rows.len() * 2);
        }
    }

    /// A key is about to be defined: rows that mean what it stood for until now are told
    /// their site.
    pub(super) fn settle_key(&mut self, key: u64, time: i64) {
        if self.keyed.may_be_fresh || self.keyed.keys.may_have(key) {
            self.settle_keyed(time);
        }
    }

    /// Tells the rows whose key was given until `time` their site.
    #[inline(never)]
    pub(super) fn settle_keyed(&mut self, time: i64) {
        let mut rows = std::mem::take(&mut self.keyed.rows);
        // All look-ups are begun before the first is needed.
        let touched = rows.iter().fold(0, |sum, keyed| sum ^ self.stacks.touch_key(keyed.key));
        std::hint::black_box(touched);
        rows.retain(|keyed| {
            if keyed.time > time {
                return true;
            }
            match keyed.owner {
                Owner::Began(row) => {
                    let known = self.stacks.site_of_key(keyed.key, keyed.heap, keyed.time);
                    let site = known.unwrap_or_else(|| self.keyed_site(keyed));
                    self.rows.set_site(row, site);
                }
                Owner::Freed(ended) => {
                    let stack = self.stacks.key(StackPart::User, keyed.key, keyed.time);
                    self.tell_freed(Freed { heap: keyed.heap, ended }, stack, Pid::NONE, keyed.at);
                }
            }
            false
        });
        self.keyed.keys = Keys::default();
        rows.iter().for_each(|keyed| self.keyed.keys.add(keyed.key));
        self.keyed.may_be_fresh = false;
        self.keyed.rows = rows;
    }

    #[inline(never)]
    fn keyed_site(&mut self, keyed: &KeyedRow) -> SiteId {
        let &KeyedRow { heap, caller, at: birth, key, time, .. } = keyed;
        let (stack, known) = self.stacks.key_and_sites(key, time);
        let Some(known) = known else { return self.site(heap, stack, caller, birth) };
        if let Some(site) = known.of(heap) {
            return site;
        }
        if known.is_full() {
            return self.site(heap, stack, caller, birth);
        }
        // Nobody else can have it: what a key stands for is new with each definition.
        let site = self.sites.add(SiteKey { heap, stack, caller }, birth);
        known.add(heap, site);
        site
    }

    /// Gives rows that still wait a site without a stack, for a publication.
    pub(super) fn name_keyed(&mut self) {
        self.settle_keyed(self.trace_start.saturating_add(self.now.0));
        for i in 0..self.keyed.rows.len() {
            let KeyedRow { owner: Owner::Began(row), heap, caller, at, .. } = self.keyed.rows[i] else { continue };
            let site = self.site(heap, StackRef::NONE, caller, at);
            self.rows.set_site(row, site);
        }
    }
}

impl SiteId {
    /// Until the site of a row is settled; never in a published trace.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);
}
