//! Gives CPU samples their stacks.

use super::pending::Waiting;
use super::sites::SiteKey;
use super::{Attach, Rooms};
use crate::events::{CallStack, Frames, StackPart};
use crate::model::activity::{NO_HEAP, NOBODY, Sample};
use crate::model::origin::Origin;
use crate::model::pairing::of_user_mode;
use crate::model::stack::StackRef;
use crate::model::{ProcessId, SiteId};
use crate::units::{Ticks, Tid};

/// Most samples that may still get a stack; an older one gets its address as its stack.
const RECENT: usize = 1 << 12;

impl Attach {
    /// The site of samples of a process with a stack.
    pub(in crate::model) fn sample_site(&mut self, process: ProcessId, stack: StackRef, at: Ticks) -> SiteId {
        self.samples.sites.intern(SiteKey { heap: NO_HEAP, stack, caller: process }, at)
    }

    /// Takes samples of one moment.
    pub(in crate::model) fn sample(&mut self, rooms: &mut Rooms<'_>, from: Origin, address: u64, count: u16) {
        // Thread 0 stands for an idle processor.
        if from.tid == Tid(0) {
            rooms.samples.idle(count);
            return;
        }
        let process = rooms.samples.pid_of(from.tid).and_then(|pid| rooms.world.processes.find(pid));
        let site = self.sample_site(process.unwrap_or(NOBODY), StackRef::NONE, from.time);
        let sample = Sample { at: from.time, site, tid: from.tid };
        if let Some(place) = rooms.samples.push(sample, count) {
            self.sampled(rooms, from, (place, count), address);
        }
    }

    /// Makes samples of one moment, from a place on, wait for their stack.
    fn sampled(&mut self, rooms: &mut Rooms<'_>, from: Origin, (place, count): (u32, u16), address: u64) {
        if !self.reads {
            return;
        }
        let places = place..place + u32::from(count);
        self.samples.waiting.add(from.raw, from.tid, Waiting::new(places, true));
        self.samples.recent.push_back((place, count, address));
        if self.samples.recent.len() > RECENT {
            self.address_for_stack(rooms);
        }
        self.take_early(rooms, from);
    }

    /// Gives all samples that still have no stack their address as their stack.
    pub(in crate::model) fn settle_samples(&mut self, rooms: &mut Rooms<'_>) {
        while !self.samples.recent.is_empty() {
            self.address_for_stack(rooms);
        }
    }

    /// Gives the oldest sample its address as its stack, if it has none.
    fn address_for_stack(&mut self, rooms: &mut Rooms<'_>) {
        let Some((place, count, address)) = self.samples.recent.pop_front() else { return };
        let Some(site) = rooms.samples.site(place) else { return };
        let SiteKey { stack, caller, .. } = self.samples.sites.key(site);
        if stack == StackRef::NONE {
            let stack = self.stacks.frames(Frames::new(&[address]));
            let at = rooms.samples.time(place).unwrap_or_default();
            let site = self.sample_site(caller, stack, at);
            (place..place + u32::from(count)).for_each(|place| rooms.samples.set_site(place, site));
        }
    }

    /// Takes a part of a stack if it is a sample's; returns whether it is.
    pub(super) fn give_sample(
        &mut self,
        rooms: &mut Rooms<'_>,
        from: Origin,
        (owner, part): (i64, StackPart),
        stack: CallStack<'_>,
    ) -> bool {
        let Self { stacks, samples, .. } = self;
        let intern = || stacks.reference(part, stack);
        let Some((event, waiting)) = samples.waiting.give(owner, from.tid, part, intern) else { return false };
        if part == StackPart::Kernel && waiting.user.is_none() {
            self.samples.fragments.add(from.pid, from.tid, event);
        }
        self.tell_samples(rooms, from, waiting);
        true
    }

    /// Completes all samples of a thread in the kernel with the user part of a stack that the kernel
    /// wrote.
    pub(super) fn complete_samples(&mut self, rooms: &mut Rooms<'_>, from: Origin, user: CallStack<'_>) {
        if self.samples.fragments.is_empty() {
            return;
        }
        let Some(user) = of_user_mode(user) else { return };
        let events = self.samples.fragments.take(from.pid, from.tid);
        let mut known = None;
        for event in events {
            let Self { stacks, samples, .. } = self;
            let user = || *known.get_or_insert_with(|| stacks.reference(StackPart::User, user));
            if let Some(waiting) = samples.waiting.share(event, user) {
                self.tell_samples(rooms, from, waiting);
            }
        }
    }

    fn tell_samples(&mut self, rooms: &mut Rooms<'_>, from: Origin, waiting: Waiting) {
        let whole = self.whole(&waiting);
        let Some(site) = rooms.samples.site(waiting.rows.start) else { return };
        // The kernel knows the process whose stack it walked.
        let process = rooms.world.processes.latest_or_add(from.pid, from.time);
        let at = rooms.samples.time(waiting.rows.start).unwrap_or_default();
        let known = self.samples.sites.key(site);
        let is_same = known.stack == whole && known.caller == process;
        let site = if is_same { site } else { self.sample_site(process, whole, at) };
        waiting.rows.for_each(|place| rooms.samples.set_site(place, site));
    }
}
