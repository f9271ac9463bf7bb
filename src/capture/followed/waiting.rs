//! What [`Followed`](super::Followed) keeps of events: those that wait, and what became of
//! some for the stacks that come behind them. Both are bounded, and the oldest go first.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::etl::ExtendedItem;
use crate::etl::write::NewEvent;
use crate::units::Tid;

/// Bytes of events that may wait. The rundown of a few hundred processes at the start of a
/// session takes a tenth of a second, in which the machine may commit pages some thousand times.
const MAX_WAITING: usize = 8 << 20;
/// So many events are remembered for their stacks.
const MAX_FATES: usize = 1 << 16;

/// How a stack names its event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct EventKey {
    time: i64,
    tid: u32,
}

impl EventKey {
    pub(super) fn new(time: i64, tid: Tid) -> Self {
        Self { time, tid: tid.0 }
    }
}

/// What became of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Kept,
    Dropped,
    /// For this process.
    Waits(u32),
}

/// What became of the last events.
#[derive(Debug, Default)]
pub(super) struct Fates {
    of: FxHashMap<EventKey, Fate>,
    order: VecDeque<EventKey>,
}

impl Fates {
    /// Of two events at the same time one that is kept counts.
    pub(super) fn set(&mut self, key: EventKey, fate: Fate) {
        let known = self.of.insert(key, fate);
        if known == Some(Fate::Kept) {
            self.of.insert(key, Fate::Kept);
        } else if known.is_none() {
            if self.order.len() == MAX_FATES
                && let Some(oldest) = self.order.pop_front()
            {
                self.of.remove(&oldest);
            }
            self.order.push_back(key);
        }
    }

    /// Events whose header has no thread are found by their time.
    pub(super) fn get(&self, key: EventKey) -> Option<Fate> {
        let without = EventKey { tid: Tid::NONE.0, ..key };
        self.of.get(&key).or_else(|| self.of.get(&without)).copied()
    }
}

/// Events that wait until their process is known, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct WaitingEvents {
    queue: VecDeque<HeldEvent>,
    bytes: usize,
    /// How many there are for each process.
    of: FxHashMap<u32, u32>,
}

impl WaitingEvents {
    pub(super) fn push(&mut self, event: HeldEvent) {
        self.bytes += event.bytes();
        *self.of.entry(event.owner).or_default() += 1;
        self.queue.push_back(event);
    }

    /// The oldest, if there are too many.
    pub(super) fn too_much(&mut self) -> Option<HeldEvent> {
        let oldest = self.queue.pop_front_if(|_| self.bytes > MAX_WAITING)?;
        self.bytes -= oldest.bytes();
        if let Some(count) = self.of.get_mut(&oldest.owner) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&oldest.owner);
            }
        }
        Some(oldest)
    }

    /// Takes out all that wait for a process.
    pub(super) fn release(&mut self, owner: u32, mut take: impl FnMut(&HeldEvent)) {
        if self.of.remove(&owner).is_none() {
            return;
        }
        self.queue.retain(|event| {
            let stays = event.owner != owner;
            if !stays {
                self.bytes -= event.bytes();
                take(event);
            }
            stays
        });
    }
}

/// An event that waits.
#[derive(Debug)]
pub(super) struct HeldEvent {
    /// The process of which has to be known whether it is followed.
    pub(super) owner: u32,
    /// The event that it is, or whose stack it is.
    pub(super) key: EventKey,
    pub(super) is_stack: bool,
    /// With nothing behind its header.
    head: NewEvent<'static>,
    payload: Box<[u8]>,
    items: Vec<(u16, Box<[u8]>)>,
}

impl HeldEvent {
    pub(super) fn new(event: &NewEvent<'_>, owner: u32, key: EventKey, is_stack: bool) -> Self {
        let NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended, payload } = *event;
        let head = NewEvent { processor, time, kind, pointer, pid, tid, id, version, descriptor, extended: &[], payload: &[] };
        let items = extended.iter().map(|item| (item.kind, item.data.into())).collect();
        Self { owner, key, is_stack, head, payload: payload.into(), items }
    }

    /// It as it came.
    pub(super) fn with(&self, take: impl FnOnce(&NewEvent<'_>)) {
        let items: Vec<_> = self.items.iter().map(|(kind, data)| ExtendedItem { kind: *kind, data }).collect();
        take(&NewEvent { extended: &items, payload: &self.payload, ..self.head });
    }

    fn bytes(&self) -> usize {
        let items: usize = self.items.iter().map(|(_, data)| 24 + data.len()).sum();
        size_of::<Self>() + self.payload.len() + items
    }
}
