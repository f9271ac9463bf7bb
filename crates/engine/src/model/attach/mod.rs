//! How an event gets its stack, and with it rows their site: the only room that knows.
//!
//! A stack comes in one of these ways. Decoding already joins what stands side by side in a buffer
//! ([`Batch`](crate::events::Batch)); all else happens here.
//!
//! | the stack comes | its event is found by | waits in | until |
//! |-|-|-|-|
//! | with its event, as frames | decoding | [`framed`] | some rows are looked up together |
//! | with its event, as a key | decoding | [`keyed`] | the key is defined anew, or enough rows wait |
//! | behind the event of a row | raw time and thread of its owner | [`pending`] | so many newer ones came |
//! | behind the free of a block | raw time and thread | [`frees`] | so many newer ones came |
//! | behind a sample or page fault, in two parts mostly | raw time and thread | [`samples`] | so many newer ones came |
//! | before its event, at the same tick | raw time and thread | [`early`] | the tick is over |
//! | in two parts, the user part under another event | its thread's return to user mode | [`fragments`] | its next user part |
//! | behind an event whose process is not known | raw time | [`held`] | a second, or so many events |
//!
//! While a batch of blocks is followed, another thread can do this ([`lent`]).
//!
//! Frees get theirs in the same ways; which row a free ended may be known later than its stack
//! ([`frees`]). A row of pages that was split hands its stack to its [`pieces`].
//!
//! Cost: for an event whose stack came with it only the look-up of its site, many at a time; else a
//! hash operation or a short search. All lists of waiting events are bounded.

mod behind;
mod block_batch;
mod by_frames;
mod by_key;
mod early;
mod fragments;
mod framed;
mod freeing;
mod frees;
mod held;
mod keyed;
mod lent;
mod pending;
mod pieces;
mod sampled;
mod samples;
mod sites;

use super::activity::{FaultTable, SampleTable};
use super::allocations::{AllocationTable, Ended};
use super::origin::Origin;
use super::renumbering::Renumbering;
use super::rows::RowSites;
use super::stack::{Interner, StackRef};
use super::world::{Heap, World};
use super::{HeapId, ProcessId, RowId, SiteId};
use crate::events::{CallStack, Frames, OwedStacks, StackPart};
use crate::units::{Pid, Ticks, Tid};
pub(super) use block_batch::NumberedBatch;
use early::{EarlyStacks, LatestTick};
use fragments::KernelFragments;
use framed::Framed;
pub(super) use frees::Frees;
use held::HeldEvents;
pub(super) use held::is_homeless;
use keyed::Keyed;
pub(super) use lent::{LentAttach, MOST_A_RECORD};
use pending::Pending;
pub(super) use pending::Waiting;
use pieces::Pieces;
use samples::SampleStacks;
pub(super) use sites::{SiteKey, SiteTable};

/// Stacks, sites, and the rows and events that wait for them.
#[derive(Debug, Default)]
pub(super) struct Attach {
    trace_start: i64,
    /// Whether stacks are of interest.
    pub(super) reads: bool,
    pub(super) stacks: Interner,
    /// Sites of all rows.
    pub(super) row_sites: RowSites,
    /// Process of each heap.
    owners: Vec<ProcessId>,
    /// Sites of allocations.
    pub(super) sites: SiteTable,
    /// Sites of frees.
    pub(super) frees: Frees,
    pub(super) held: HeldEvents,
    tick: LatestTick,
    early: EarlyStacks,
    keyed: Keyed,
    framed: Framed,
    pending: Pending,
    pieces: Pieces,
    fragments: KernelFragments,
    /// Stacks that will come once more for events that got theirs with a copy.
    pub(super) owed: OwedStacks,
    /// Stacks of CPU samples and page faults.
    pub(super) samples: SampleStacks,
}

/// The rooms in which stacks and sites are noted, besides those of rows.
pub(super) struct Rooms<'a> {
    pub(super) world: &'a mut World,
    pub(super) allocations: &'a mut AllocationTable,
    pub(super) samples: &'a mut SampleTable,
    pub(super) faults: &'a mut FaultTable,
}

/// A block that began, and the one that the same event freed for it.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) heap: HeapId,
    pub(super) row: RowId,
    pub(super) freed: Option<Ended>,
}

impl Attach {
    pub(super) fn new(trace_start: i64) -> Self {
        Self { trace_start, reads: true, ..Self::default() }
    }

    /// Gets to know the heaps that there are by now.
    #[inline(always)]
    pub(super) fn know(&mut self, heaps: &[Heap]) {
        if self.owners.len() < heaps.len() {
            self.owners.extend(heaps[self.owners.len()..].iter().map(|heap| heap.process));
        }
    }

    /// The process of a heap.
    fn owner(&self, heap: HeapId) -> ProcessId {
        self.owners[heap.0 as usize]
    }

    /// Notes that an event which can have a stack is replayed: its thread has written at this time.
    #[inline(always)]
    pub(super) fn note(&mut self, raw: i64, tid: Tid) {
        self.tick.note(raw, tid);
    }

    /// The site that a new row gets for now: without a stack, or [`SiteId::UNKNOWN`] if its stack came
    /// with it, until [`Attach::began`] takes that.
    #[inline(always)]
    pub(super) fn first_site(&mut self, heap: HeapId, caller: ProcessId, at: Ticks, stack: CallStack<'_>) -> SiteId {
        match stack {
            CallStack::Nothing => self.site(heap, StackRef::NONE, caller, at),
            CallStack::Frames(_) | CallStack::Key { .. } => SiteId::UNKNOWN,
        }
    }

    /// Takes a block that began, with the stack that came with it. A stack that comes later is also
    /// that of the block that was freed for it.
    #[inline(always)]
    pub(super) fn began(&mut self, rooms: &mut Rooms<'_>, from: Origin, begun: Begun, stack: CallStack<'_>) {
        let Begun { heap, row, freed } = begun;
        match stack {
            CallStack::Nothing => {
                let waiting = Waiting::of_block(row, from.time, from.tid);
                self.await_stack(rooms, from, if let Some(freed) = freed { waiting.freeing(vec![freed]) } else { waiting });
            }
            CallStack::Frames(frames) => self.await_site(from, row, heap, frames),
            CallStack::Key { key, time } => self.await_key(from, (heap, row), key, time),
        }
    }

    /// Takes a block that was freed, with the stack that came with the free, if one did.
    #[inline(always)]
    pub(super) fn freed(&mut self, rooms: &mut Rooms<'_>, from: Origin, ended: Ended, stack: CallStack<'_>) {
        match stack {
            CallStack::Nothing => self.await_freeing_stack(rooms, from, ended),
            CallStack::Frames(frames) => {
                let stack = self.stacks.frames(frames);
                self.tell_freed(rooms, ended, stack, from.pid, from.time);
            }
            CallStack::Key { key, time } => self.await_freeing_key(from, ended, key, time),
        }
    }

    /// Defines a key: it means these frames from now on.
    pub(super) fn define(&mut self, part: StackPart, key: u64, frames: Frames<'_>, raw: i64) {
        self.settle_key(key, raw);
        self.stacks.define(part, key, frames, raw);
    }

    /// A process starts or ends: forgets the events of threads with its id that wait for a user part.
    pub(super) fn forget_process(&mut self, pid: Pid) {
        self.fragments.forget_process(pid);
        self.samples.fragments.forget_process(pid);
    }

    /// A thread starts: forgets the events of another with its id that wait for a user part.
    pub(super) fn forget_thread(&mut self, pid: Pid, tid: Tid) {
        self.fragments.forget_thread(pid, tid);
        self.samples.fragments.forget_thread(pid, tid);
    }

    /// Notes that a row was split: the piece gets the stack that may come for it.
    pub(super) fn split(&mut self, whole: RowId, piece: RowId) {
        self.pieces.add(whole, piece);
    }

    pub(super) fn site(&mut self, heap: HeapId, stack: StackRef, caller: ProcessId, first: Ticks) -> SiteId {
        self.sites.intern(SiteKey { heap, stack, caller }, first)
    }

    /// Gives rows their new numbers; what waits for a row without one is dropped.
    pub(super) fn renumber(&mut self, numbers: &Renumbering) {
        self.row_sites.renumber(numbers);
        self.pending.renumber(numbers);
        self.frees.renumber(|row| numbers.of(row));
        self.pieces.renumber(|row| numbers.of(row));
        self.keyed.renumber(|row| numbers.of(row));
    }

    /// Brings all stacks that are known by now into one form, wherever one stands.
    pub(super) fn settle_stacks(&mut self, allocations: &mut AllocationTable) {
        let Self { stacks, sites, frees, pending, samples, .. } = self;
        sites.loosen();
        frees.sites.loosen();
        samples.sites.loosen();
        stacks.settle(|settle| {
            sites.stacks().chain(frees.sites.stacks()).chain(samples.stacks()).for_each(&mut *settle);
            pending.stacks().for_each(&mut *settle);
            allocations.each_stack(settle);
        });
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.stacks.bytes() + self.sites.bytes() + self.frees.sites.bytes() + self.samples.sites.bytes() + self.pending.bytes()
    }
}
