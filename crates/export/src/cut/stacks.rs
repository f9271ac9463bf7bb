//! Which stacks, and definitions of their keys, belong to what is written.
//!
//! The ways are those of the replay (`model::attach`): a stack names its event by raw time and thread, stands
//! behind it or at the same tick before; the user's part completes all that the thread did in the
//! kernel, whatever event it names; a key means what its next definition says, or the one at its tick.
//! What is kept is at least what belongs to the events that are; more changes nothing.

use super::owners::Owners;
use crate::events::{Event, Frames, Record, StackPart};
use crate::tables::{self, KeyedMap, KeyedSet};
use crate::units::{Pid, Tid};

/// Stacks of one tick, and definitions, that may turn out to be needed; as many as a replay keeps.
const MOST_OF_A_TICK: usize = 256;

/// An event that is written if another comes.
#[derive(Clone, Debug)]
pub(super) struct Stashed {
    pub(super) processor: u16,
    pub(super) time: i64,
    pub(super) bytes: Vec<u8>,
}

/// Stacks and key definitions that belong to written events.
#[derive(Debug, Default)]
pub(super) struct KeptStacks {
    /// Events that are written.
    kept: Owners,
    /// Events that are not, where nearly all are.
    left_out: Owners,
    /// Threads with something that waits for its user part.
    in_kernel: KeyedMap<Pid, KeyedSet<Tid>>,
    /// Keys that are used and not defined yet.
    open: KeyedSet<(StackPart, u64)>,
    /// Of the present tick: stacks without an event, ...
    early: Vec<(Tid, Stashed)>,
    /// ... definitions that nobody needed, ...
    definitions: Vec<((StackPart, u64), Stashed)>,
    /// ... and threads that have written events which can have stacks.
    seen: KeyedSet<Tid>,
    tick: i64,
}

impl KeptStacks {
    /// Time goes on.
    pub(super) fn at(&mut self, time: i64) {
        if self.tick != time {
            self.tick = time;
            self.early.clear();
            self.definitions.clear();
            tables::empty(&mut self.seen);
        }
    }

    /// An event is not written.
    pub(super) fn leave_out(&mut self, record: &Record, remembers: bool) {
        self.seen.insert(record.tid);
        if remembers {
            self.left_out.add(record.time, record.tid);
        }
    }

    /// An event is written, and so are these stacks that came before it.
    pub(super) fn keep(&mut self, record: &Record) -> Vec<Stashed> {
        self.kept.add(record.time, record.tid);
        self.seen.insert(record.tid);
        if self.early.is_empty() {
            return Vec::new();
        }
        let is_its = |(tid, _): &mut (Tid, Stashed)| *tid == record.tid || !record.tid.is_known();
        self.early.extract_if(.., is_its).map(|(_, stack)| stack).collect()
    }

    /// Whether a stack belongs to what is written.
    pub(super) fn wants(&self, stack: &Record) -> bool {
        let Some((owner, part)) = owner_and_part(stack) else { return false };
        self.kept.has(owner, stack.tid) || (part == StackPart::User && self.is_in_kernel(stack.pid, stack.tid))
    }

    /// Whether a stack belongs to nothing but an event that was left out.
    pub(super) fn is_left_out(&self, stack: &Record) -> bool {
        let Some((owner, _)) = owner_and_part(stack) else { return false };
        self.left_out.has(owner, stack.tid) && !self.wants(stack)
    }

    /// A stack that nobody wanted may be that of an event to come.
    pub(super) fn stash(&mut self, stack: &Record, event: Stashed) {
        let is_early = owner_and_part(stack).is_some_and(|(owner, _)| owner == stack.time);
        if is_early && !self.seen.contains(&stack.tid) && self.early.len() < MOST_OF_A_TICK {
            self.early.push((stack.tid, event));
        }
    }

    /// A stack is written, and so is this definition, which stood before it at the same tick.
    pub(super) fn keep_stack(&mut self, stack: &Record, frames: &[u64]) -> Option<Stashed> {
        let (_, part) = owner_and_part(stack)?;
        const KERNEL_ONLY: [Pid; 2] = [Pid(0), Pid(4)];
        match part {
            StackPart::Kernel if KERNEL_ONLY.contains(&stack.pid) => {}
            StackPart::Kernel => drop(self.in_kernel.entry(stack.pid).or_default().insert(stack.tid)),
            StackPart::User => {
                let is_key = matches!(stack.event, Event::StackRef { .. });
                if is_key || !Frames::new(frames).of_user_mode().addresses().is_empty() {
                    self.forget_thread(stack.pid, stack.tid);
                }
            }
        }
        let Event::StackRef { key, .. } = stack.event else { return None };
        self.open.insert((part, key));
        let at = self.definitions.iter().position(|(defined, _)| *defined == (part, key))?;
        Some(self.definitions.remove(at).1)
    }

    /// Whether a key that is defined now is used by anything.
    pub(super) fn define(&mut self, part: StackPart, key: u64) -> bool {
        self.open.remove(&(part, key))
    }

    /// A definition that nobody needed may be what a key at the same tick means.
    pub(super) fn stash_definition(&mut self, part: StackPart, key: u64, event: Stashed) {
        if self.definitions.len() < MOST_OF_A_TICK && !self.definitions.iter().any(|(known, _)| *known == (part, key)) {
            self.definitions.push(((part, key), event));
        }
    }

    /// A process starts or ends: what its threads did in the kernel is over.
    pub(super) fn forget_process(&mut self, pid: Pid) {
        self.in_kernel.remove(&pid);
    }

    /// A thread starts: what its predecessor did in the kernel is over.
    pub(super) fn forget_thread(&mut self, pid: Pid, tid: Tid) {
        if let Some(threads) = self.in_kernel.get_mut(&pid) {
            threads.remove(&tid);
        }
    }

    fn is_in_kernel(&self, pid: Pid, tid: Tid) -> bool {
        self.in_kernel.get(&pid).is_some_and(|threads| threads.contains(&tid))
    }
}

/// The raw time of a stack's event, and which part of the stack it is.
pub(super) fn owner_and_part(stack: &Record) -> Option<(i64, StackPart)> {
    match stack.event {
        Event::Stack { owner, part, .. } | Event::StackRef { owner, part, .. } => Some((owner, part)),
        _ => None,
    }
}
