//! The records of all streams between two moments as one list in order of time. A worker makes one
//! slice at a time, and the replay then goes through it from its first record to its last.
//!
//! Entries stay where they were decoded; the order is a list of places, without those of copies
//! ([`copies`]). The replay can have the worker gather more from the entries on the way ([`Gather`]).
//!
//! [`copies`]: super::copies
//!
//! Cost: some 50 instructions an entry of a few streams ([`in_order`]). Memory: 16 bytes an entry, half
//! as much again while the entries of many streams are sorted, and the buffers that they are in.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::call_stack::CallStack;
use super::copied::Copied;
use super::copies::CopyFinder;
use super::owed::OwedStack;
use super::run::{Place, Run};
use super::{in_order, ties};
use crate::events::{Attached, Batch, Entry, Event, FrameRange, Frames, Item};
use crate::units::Tid;

/// Gathers data from a slice's entries while they are put into order.
pub trait Gather: Clone + Send + Sync + 'static {
    /// Clears the data of the slice before, but keeps its memory; the next slice has these first and
    /// last raw times.
    fn begin(&mut self, times: (i64, i64));

    /// Takes the next entry in order, which is one of `batch`.
    fn visit(&mut self, entry: &Entry, batch: &Batch);

    /// Called after the last entry of the slice.
    fn finish(&mut self);
}

/// Gathers nothing: only the order is wanted.
impl Gather for () {
    fn begin(&mut self, _times: (i64, i64)) {}

    #[inline(always)]
    fn visit(&mut self, _entry: &Entry, _batch: &Batch) {}

    fn finish(&mut self) {}
}

/// Records of all streams between two moments.
#[derive(Debug)]
pub struct Slice<G> {
    /// The runs, in the order of their streams.
    pub(super) runs: Vec<Run>,
    order: Vec<Place>,
    /// Copies that were left out, and stacks that will come once more.
    copied: Copied,
    owed: Vec<OwedStack>,
    /// Data gathered from its entries; slices are moved, and it is large.
    made: Box<G>,
}

impl<G> Slice<G> {
    /// Copies that were left out of it.
    pub(super) fn copied(&self) -> &Copied {
        &self.copied
    }

    /// Stacks that will come once more for its events, in this slice or a later one.
    pub(crate) fn owed(&self) -> &[OwedStack] {
        &self.owed
    }

    /// Data gathered from its entries.
    pub fn made(&self) -> &G {
        &self.made
    }

    /// Places of its entries, in order of time.
    pub fn order(&self) -> &[Place] {
        &self.order
    }

    /// The item at a place, and the stack that came with it.
    #[inline(always)]
    pub fn item(&self, place: Place) -> (Item<'_>, CallStack<'_>) {
        let batch = &*self.runs[place.run as usize].batch;
        let entry = &batch.entries[place.at as usize];
        let item = batch.item(entry);
        let stack = match (entry.stack(), item) {
            (Attached::Key { delay, key }, _) => CallStack::Key { key, time: entry.time.wrapping_add(delay.into()) },
            (Attached::Frames(frames), _) => CallStack::Frames(batch.frames.get(frames)),
            (Attached::Nothing, Item::Block(_)) => CallStack::Nothing,
            (Attached::Nothing, Item::Record(record)) => match record.event {
                Event::Stack { frames, .. } | Event::StackDefinition { frames, .. } => {
                    CallStack::Frames(batch.frames.get(frames))
                }
                _ => CallStack::Nothing,
            },
        };
        (item, stack)
    }

    /// The thread that wrote the event at a place.
    pub fn thread(&self, place: Place) -> Tid {
        self.runs[place.run as usize].batch.entries[place.at as usize].tid
    }

    /// Frames that came with the event at a place.
    #[inline(always)]
    pub fn frames(&self, place: Place, frames: FrameRange) -> Frames<'_> {
        self.runs[place.run as usize].batch.frames.get(frames)
    }

    /// How many of its first records are earlier than `time`.
    pub(super) fn earlier_than(&self, time: i64) -> usize {
        self.order.partition_point(|place| place.time < time)
    }

    /// Raw time of the last record.
    pub(super) fn last_time(&self) -> Option<i64> {
        self.order.last().map(|place| place.time)
    }
}

impl<G: Gather> Slice<G> {
    /// Puts runs into order.
    fn new(runs: Vec<Run>, Memory { mut order, mut made }: Memory<G>) -> Self {
        let (copied, owed) = sort(&runs, &mut order);
        let time = |place: Option<&Place>| place.map_or(0, |place| place.time);
        made.begin((time(order.first()), time(order.last())));
        let gather = &mut *made;
        for place in &order {
            let batch = &*runs[place.run as usize].batch;
            gather.visit(&batch.entries[place.at as usize], batch);
        }
        made.finish();
        Self { runs, order, copied, owed, made }
    }

    /// Takes a slice apart that is no longer needed: its runs, and its memory.
    pub(super) fn into_parts(self) -> (Vec<Run>, Memory<G>) {
        (self.runs, Memory { order: self.order, made: self.made })
    }
}

/// Memory of a slice that is no longer needed.
#[derive(Debug)]
pub(super) struct Memory<G> {
    pub(super) order: Vec<Place>,
    pub(super) made: Box<G>,
}

/// Puts the entries of several runs into order of time, those of one time as [`ties`] does, without
/// copies.
fn sort(runs: &[Run], order: &mut Vec<Place>) -> (Copied, Vec<OwedStack>) {
    order.clear();
    order.reserve(runs.iter().map(|run| run.range.len()).sum());
    let mut tied = Vec::new();
    in_order::put(runs, order, &mut tied);
    let mut finder = CopyFinder::default();
    let mut are_gone = false;
    for places in tied {
        let places = &mut order[places];
        let kept = finder.leave_out(runs, places);
        let (kept, copies) = places.split_at_mut(kept);
        ties::put_in_order(runs, kept);
        finder.give_stacks(kept);
        are_gone |= !copies.is_empty();
        copies.iter_mut().for_each(|place| place.run = GONE);
    }
    if are_gone {
        order.retain(|place| place.run != GONE);
    }
    (finder.found, finder.owed)
}

/// Run number of a place that was left out.
const GONE: u32 = u32::MAX;

/// A slice that the first thread with time for it makes.
#[derive(Debug)]
pub(super) struct Task<G> {
    state: Mutex<State<G>>,
    done: Condvar,
}

#[derive(Debug)]
enum State<G> {
    /// Not begun yet.
    Idle(Vec<Run>, Memory<G>),
    Running,
    Done(Slice<G>),
    Failed(Box<dyn Any + Send>),
    Taken,
}

impl<G: Gather> Task<G> {
    pub(super) fn new(runs: Vec<Run>, memory: Memory<G>) -> Self {
        Self { state: Mutex::new(State::Idle(runs, memory)), done: Condvar::new() }
    }

    /// Makes the slice if nobody has begun with it.
    pub(super) fn work(&self) {
        let mut state = self.lock();
        if !matches!(*state, State::Idle(..)) {
            return;
        }
        let State::Idle(runs, memory) = std::mem::replace(&mut *state, State::Running) else { return };
        drop(state);
        let done = match catch_unwind(AssertUnwindSafe(|| Slice::new(runs, memory))) {
            Ok(slice) => State::Done(slice),
            Err(payload) => State::Failed(payload),
        };
        *self.lock() = done;
        self.done.notify_all();
    }

    /// The slice, made here and now if nobody has begun; `None` if it was taken before. A worker's
    /// panic resumes here.
    pub(super) fn take(&self) -> Option<Slice<G>> {
        self.work();
        let mut state = self.lock();
        while matches!(*state, State::Running) {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(slice) => Some(slice),
            State::Failed(payload) => {
                drop(state);
                resume_unwind(payload)
            }
            State::Idle(..) | State::Running | State::Taken => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<G>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
