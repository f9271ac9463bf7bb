//! Gives CPU samples and page faults their stacks.

use super::pending::Waiting;
use super::sites::SiteKey;
use super::{Attach, Rooms};
use crate::events::{CallStack, Frames, PageFault, StackPart};
use crate::model::activity::{NO_HEAP, NOBODY, PlacedEvent, Sample};
use crate::model::origin::Origin;
use crate::model::pairing::of_user_mode;
use crate::model::stack::StackRef;
use crate::model::{ProcessId, SiteId};
use crate::units::{Ticks, Tid};

/// Most samples and faults that may still get a stack; an older one gets its address as its stack.
const RECENT: usize = 1 << 12;

impl Rooms<'_> {
    /// The site and the time of a sample or fault.
    fn placed(&self, number: u32) -> Option<(SiteId, Ticks)> {
        match PlacedEvent::of(number) {
            PlacedEvent::Sample(place) => self.samples.get(place).map(|sample| (sample.site, sample.at)),
            PlacedEvent::Fault(place) => self.faults.get(place).map(|fault| (fault.site, fault.at)),
        }
    }

    /// Changes the site of a sample or fault, and the thread of one that is not known.
    fn set_site(&mut self, number: u32, site: SiteId, tid: Tid) {
        match PlacedEvent::of(number) {
            PlacedEvent::Sample(place) => self.samples.set_site(place, site),
            PlacedEvent::Fault(place) => self.faults.set_site(place, site, tid),
        }
    }
}

impl Attach {
    /// The site of samples and faults of a process with a stack.
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
            self.sampled(rooms, from, (PlacedEvent::Sample(place), count), Some(address));
        }
    }

    /// Takes a page fault.
    pub(in crate::model) fn fault(&mut self, rooms: &mut Rooms<'_>, from: Origin, fault: PageFault) {
        let process = if from.pid.is_known() {
            Some(rooms.world.processes.latest_or_add(from.pid, from.time))
        } else {
            rooms.samples.pid_of(from.tid).and_then(|pid| rooms.world.processes.find(pid))
        };
        let site = self.sample_site(process.unwrap_or(NOBODY), StackRef::NONE, from.time);
        if let Some(place) = rooms.faults.push((from.time, from.raw), fault, (site, from.tid)) {
            self.sampled(rooms, from, (PlacedEvent::Fault(place), 1), fault.code());
        }
    }

    /// Makes samples of one moment, from a place on, or a fault wait for their stack.
    fn sampled(&mut self, rooms: &mut Rooms<'_>, from: Origin, (first, count): (PlacedEvent, u16), address: Option<u64>) {
        // Without stacks they would give nothing but the thread.
        if !self.reads && from.tid.is_known() {
            return;
        }
        let first = first.number();
        self.samples.waiting.add(from.raw, from.tid, Waiting::new(first..first + u32::from(count), true));
        if let Some(address) = address.filter(|_| self.reads) {
            self.samples.recent.push_back((first, count, address));
            if self.samples.recent.len() > RECENT {
                self.address_for_stack(rooms);
            }
        }
        self.take_early(rooms, from);
    }

    /// Gives all samples and faults that still have no stack their address as their stack.
    pub(in crate::model) fn settle_samples(&mut self, rooms: &mut Rooms<'_>) {
        while !self.samples.recent.is_empty() {
            self.address_for_stack(rooms);
        }
    }

    /// Gives the oldest sample or fault its address as its stack, if it has none.
    fn address_for_stack(&mut self, rooms: &mut Rooms<'_>) {
        let Some((first, count, address)) = self.samples.recent.pop_front() else { return };
        let Some((site, at)) = rooms.placed(first) else { return };
        let SiteKey { stack, caller, .. } = self.samples.sites.key(site);
        if stack == StackRef::NONE {
            let stack = self.stacks.frames(Frames::new(&[address]));
            let site = self.sample_site(caller, stack, at);
            (first..first + u32::from(count)).for_each(|number| rooms.set_site(number, site, Tid::NONE));
        }
    }

    /// Takes a part of a stack if it is that of a sample or fault; returns whether it is.
    pub(super) fn give_sample(
        &mut self,
        rooms: &mut Rooms<'_>,
        from: Origin,
        (owner, part): (i64, StackPart),
        stack: CallStack<'_>,
    ) -> bool {
        let Self { stacks, samples, reads, .. } = self;
        let intern = || if *reads { stacks.reference(part, stack) } else { StackRef::NONE };
        let Some((event, waiting)) = samples.waiting.give(owner, from.tid, part, intern) else { return false };
        if part == StackPart::Kernel && waiting.user.is_none() && self.reads {
            self.samples.fragments.add(from.pid, from.tid, event);
        }
        self.tell_samples(rooms, from, waiting);
        true
    }

    /// Completes all samples and faults of a thread in the kernel with the user part of a stack that the kernel
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
        let whole = if self.reads { self.whole(&waiting) } else { StackRef::NONE };
        let Some((site, at)) = rooms.placed(waiting.rows.start) else { return };
        // The kernel knows the process whose stack it walked.
        let process = rooms.world.processes.latest_or_add(from.pid, from.time);
        let known = self.samples.sites.key(site);
        let is_same = known.stack == whole && known.caller == process;
        let site = if is_same { site } else { self.sample_site(process, whole, at) };
        waiting.rows.for_each(|number| rooms.set_site(number, site, from.tid));
    }
}
