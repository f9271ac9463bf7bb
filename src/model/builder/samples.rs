//! Samples of processors: whose they are, and where they ran.

use super::{Builder, Origin};
use crate::model::SiteId;
use crate::model::activity::{NOBODY, Sample};
use crate::model::stack::StackRef;
use crate::units::Tid;

impl Builder {
    /// What is told of a thread: it is its process's from now on.
    pub(super) fn thread_is_seen(&mut self, from: Origin) {
        self.activity.samples.thread_is_of(from.tid, from.pid);
    }

    /// A processor ran a thread.
    pub(super) fn sample(&mut self, from: Origin, address: u64, count: u16) {
        // Thread 0 stands for a processor that has nothing to do.
        if from.tid == Tid(0) {
            self.activity.samples.idle(count);
            return;
        }
        let process = self.activity.samples.pid_of(from.tid).and_then(|pid| self.world.processes.find(pid));
        let site = self.attach.sample_site(process.unwrap_or(NOBODY), StackRef::NONE, from.time);
        let sample = Sample { at: from.time, site, tid: from.tid };
        if let Some(place) = self.activity.samples.push(sample, count) {
            let (attach, mut rooms) = self.attach();
            attach.sampled(&mut rooms, from, (place, count), address);
        }
    }

    /// All was read: what has no stack gets none, and threads of which only the end told are known.
    pub(super) fn settle_samples(&mut self) {
        let (attach, mut rooms) = self.attach();
        attach.settle_samples(&mut rooms);
        let Self { attach, activity, world, .. } = self;
        let is_unknown = |site: SiteId| attach.samples.is_unknown(site);
        for (place, pid) in activity.samples.found_later(is_unknown) {
            let Some(sample) = activity.samples.get(place) else { continue };
            let process = world.processes.latest_or_add(pid, sample.at);
            let stack = attach.samples.sites.stack_of(sample.site);
            let site = attach.sample_site(process, stack, sample.at);
            activity.samples.set_site(place, site);
        }
    }
}
