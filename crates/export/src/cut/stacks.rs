//! Which stacks, and definitions of their keys, belong to what is written.
//!
//! The conditions are those of the replay ([`pairing`](crate::model::pairing)): a stack names its event by raw time and thread, stands
//! behind it or at the same tick before; the user's part completes all that the thread did in the
//! kernel, whatever event it names; a key means what its next definition says, or the one at its tick.
//! What is kept is at least what belongs to the events that are; more changes nothing.

use super::owners::Owners;
use crate::events::{CallStack, Event, Frames, Record, StackPart};
use crate::model::pairing::{
    MOST_EARLY, completes_samples, may_be_early, of_user_mode, owner_and_part, returns_to_user_mode, threads_of_owner,
};
use crate::tables::{self, KeyedMap, KeyedSet};
use crate::units::{Pid, Tid};

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
        self.sees(record);
        if remembers {
            self.left_out.add(record);
        }
    }

    /// An event is written, and so are these stacks that came before it.
    pub(super) fn keep(&mut self, record: &Record) -> Vec<Stashed> {
        self.sees(record);
        if !record.event.may_have_stack() {
            return Vec::new();
        }
        self.kept.add(record);
        if self.early.is_empty() {
            return Vec::new();
        }
        let is_its = |(tid, _): &mut (Tid, Stashed)| threads_of_owner(*tid).contains(&record.tid);
        self.early.extract_if(.., is_its).map(|(_, stack)| stack).collect()
    }

    fn sees(&mut self, record: &Record) {
        if record.event.may_have_stack() {
            self.seen.insert(record.tid);
        }
    }

    /// Whether a stack belongs to what is written.
    pub(super) fn wants(&self, stack: &Record) -> bool {
        let Some((owner, part)) = owner_and_part(&stack.event) else { return false };
        self.kept.has(owner, stack.tid) || (part == StackPart::User && self.is_in_kernel(stack.pid, stack.tid))
    }

    /// Whether a stack belongs to nothing but an event that was left out.
    pub(super) fn is_left_out(&self, stack: &Record) -> bool {
        let Some((owner, _)) = owner_and_part(&stack.event) else { return false };
        self.left_out.has(owner, stack.tid) && !self.wants(stack)
    }

    /// A stack that nobody wanted may be that of an event to come.
    pub(super) fn stash(&mut self, stack: &Record, event: Stashed) {
        let is_early = owner_and_part(&stack.event).is_some_and(|(owner, _)| may_be_early(owner, stack.time));
        if is_early && !self.seen.contains(&stack.tid) && self.early.len() < MOST_EARLY {
            self.early.push((stack.tid, event));
        }
    }

    /// A stack is written, and so is this definition, which stood before it at the same tick.
    pub(super) fn keep_stack(&mut self, stack: &Record, frames: &[u64]) -> Option<Stashed> {
        let (owner, part) = owner_and_part(&stack.event)?;
        match part {
            StackPart::Kernel if returns_to_user_mode(stack.pid) => {
                self.in_kernel.entry(stack.pid).or_default().insert(stack.tid);
            }
            StackPart::Kernel => {}
            StackPart::User => self.leaves_kernel(stack, (owner, part), frames),
        }
        let Event::StackRef { key, .. } = stack.event else { return None };
        self.open.insert((part, key));
        let at = self.definitions.iter().position(|(defined, _)| *defined == (part, key))?;
        Some(self.definitions.remove(at).1)
    }

    /// A thread left the kernel. Its samples there wait on where this is but the stack of a block.
    fn leaves_kernel(&mut self, stack: &Record, (owner, part): (i64, StackPart), frames: &[u64]) {
        let call_stack = match stack.event {
            Event::StackRef { key, .. } => CallStack::Key { key, time: stack.time },
            _ => CallStack::Frames(Frames::new(frames)),
        };
        let is_of_block = self.kept.is_of_block(owner, stack.tid);
        if of_user_mode(call_stack).is_some() && completes_samples(part, is_of_block) {
            self.forget_thread(stack.pid, stack.tid);
        }
    }

    /// Whether a key that is defined now is used by anything.
    pub(super) fn define(&mut self, part: StackPart, key: u64) -> bool {
        self.open.remove(&(part, key))
    }

    /// A definition that nobody needed may be what a key at the same tick means.
    pub(super) fn stash_definition(&mut self, part: StackPart, key: u64, event: Stashed) {
        if self.definitions.len() < MOST_EARLY && !self.definitions.iter().any(|(known, _)| *known == (part, key)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{CommittedRegion, FrameRange};
    use crate::units::Layer;

    const PID: Pid = Pid(7);
    const THREAD: Tid = Tid(70);

    fn record(time: i64, event: Event) -> Record {
        Record { time, pid: PID, tid: THREAD, event }
    }

    fn alloc(time: i64) -> Record {
        record(time, Event::Alloc { layer: Layer::Heap, heap: 0x50, address: 0x1000, size: 8 })
    }

    fn stack(time: i64, owner: i64, part: StackPart) -> Record {
        record(time, Event::Stack { owner, part, frames: FrameRange::default() })
    }

    #[test]
    fn a_rundown_of_pages_does_not_take_the_place_of_the_event_of_an_early_stack() {
        let mut stacks = KeptStacks::default();
        stacks.at(5);
        let region = CommittedRegion { base: 0x1000, size: 0x1000, committed: 0x1000, owner: PID };
        assert!(stacks.keep(&record(5, Event::CommitRundown(region))).is_empty());
        let early = stack(5, 5, StackPart::User);
        assert!(!stacks.wants(&early), "the rundown has no stack");
        stacks.stash(&early, Stashed { processor: 0, time: 5, bytes: vec![1] });
        assert_eq!(stacks.keep(&alloc(5)).len(), 1);
    }

    #[test]
    fn the_stack_of_a_block_leaves_the_samples_of_its_thread_waiting() {
        const USER: [u64; 1] = [0x10];
        let mut stacks = KeptStacks::default();
        stacks.keep(&record(1, Event::Sample { address: 1, count: 1 }));
        stacks.keep_stack(&stack(2, 1, StackPart::Kernel), &[1 << 63]);
        stacks.keep(&alloc(3));
        stacks.keep_stack(&stack(4, 3, StackPart::User), &USER);
        let late = stack(9, 8, StackPart::User);
        assert!(stacks.wants(&late), "whatever event it names");
        stacks.keep_stack(&late, &USER);
        assert!(!stacks.wants(&stack(11, 10, StackPart::User)));
    }
}
