//! Rows that wait for their stack. A stack names its owner by raw time and thread;
//! it comes a little later, the user part perhaps much later and from another
//! processor.
//!
//! Bounded: two generations of entries; when the younger is full the older one,
//! which saw that many newer events without a stack, is given up.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::RowId;
use super::stack::StackRef;
use crate::units::Tid;

/// Entries of one generation.
const GENERATION: usize = 1 << 17;

/// The rows of one event and the part of their stack that is known.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Rows that the event made.
    pub(super) rows: Range<u32>,
    /// Kernel part, if it came already.
    pub(super) kernel: Option<StackRef>,
    /// User part, if it came already.
    pub(super) user: Option<StackRef>,
    /// Whether the kernel wrote the event, so that the stack can have two parts.
    pub(super) two_parts: bool,
}

impl Waiting {
    fn is_complete(&self) -> bool {
        self.user.is_some() && (self.kernel.is_some() || !self.two_parts)
    }
}

type Key = (i64, Tid);

#[derive(Debug, Default)]
pub(super) struct Pending {
    young: FxHashMap<Key, Vec<Waiting>>,
    old: FxHashMap<Key, Vec<Waiting>>,
}

impl Pending {
    pub(super) fn add(&mut self, time: i64, tid: Tid, waiting: Waiting) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.entry((time, tid)).or_default().push(waiting);
    }

    /// Gives a stack to the first event at `time` by `tid`, or by an unknown thread,
    /// for which `wants` holds: `give` puts it in. Returns the event as it is then,
    /// and forgets it if it has all of its stack. `None` if the stack belongs to
    /// some other event.
    pub(super) fn give(
        &mut self,
        time: i64,
        tid: Tid,
        wants: impl Fn(&Waiting) -> bool,
        give: impl FnOnce(&mut Waiting),
    ) -> Option<Waiting> {
        for key in [(time, tid), (time, Tid::NONE)] {
            for map in [&mut self.young, &mut self.old] {
                let Some(list) = map.get_mut(&key) else { continue };
                let Some(at) = list.iter().position(&wants) else { continue };
                give(&mut list[at]);
                if !list[at].is_complete() {
                    return Some(list[at].clone());
                }
                let waiting = list.remove(at);
                if list.is_empty() {
                    map.remove(&key);
                }
                return Some(waiting);
            }
        }
        None
    }
}

/// Pieces that committed rows were split into, so that a stack that comes after
/// the split reaches all of them. Bounded as [`Pending`] is.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    young: FxHashMap<RowId, Vec<RowId>>,
    old: FxHashMap<RowId, Vec<RowId>>,
}

impl Pieces {
    /// `piece` was a part of `whole`.
    pub(super) fn add(&mut self, whole: RowId, piece: RowId) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.entry(whole).or_default().push(piece);
    }

    /// All that was split off `row`, and off that.
    pub(super) fn of(&self, row: RowId) -> Vec<RowId> {
        let pieces = |whole: RowId| [&self.old, &self.young].into_iter().filter_map(move |map| map.get(&whole)).flatten();
        let mut all: Vec<RowId> = pieces(row).copied().collect();
        let mut next = 0;
        while let Some(&piece) = all.get(next) {
            all.extend(pieces(piece));
            next += 1;
        }
        all
    }
}
