//! CPU samples and page faults: their processes, and where they were.

use super::{Builder, Origin};
use crate::events::ThreadStack;
use crate::model::{SiteId, thread_stacks};

impl Builder {
    /// An event is about a thread: notes that the thread belongs to its process from now on.
    pub(super) fn thread_is_seen(&mut self, from: Origin, stack: ThreadStack) {
        self.activity.samples.thread_is_of(from.tid, from.pid);
        if let Some(process) = self.world.processes.find(from.pid) {
            thread_stacks::note(&mut self.thread_stacks, process, stack, from.time);
        }
    }

    /// Called when all was read: samples and faults without a stack get their address, and the processes of threads that only
    /// later events named.
    pub(super) fn settle_samples(&mut self) {
        let (attach, mut rooms) = self.attach();
        attach.settle_samples(&mut rooms);
        let Self { attach, activity, world, .. } = self;
        let is_unknown = |site: SiteId| attach.samples.is_unknown(site);
        let samples = activity.samples.found_later(is_unknown);
        let pid_of = |tid| activity.samples.pid_of(tid);
        let unknown = activity.faults.iter().filter(|(_, fault)| is_unknown(fault.site));
        let faults: Vec<_> = unknown.filter_map(|(place, fault)| Some((place, *fault, pid_of(fault.tid)?))).collect();
        for (place, pid) in samples {
            let Some(sample) = activity.samples.get(place) else { continue };
            let process = world.processes.latest_or_add(pid, sample.at);
            let stack = attach.samples.sites.stack_of(sample.site);
            let site = attach.sample_site(process, stack, sample.at);
            activity.samples.set_site(place, site);
        }
        for (place, fault, pid) in faults {
            let process = world.processes.latest_or_add(pid, fault.at);
            let stack = attach.samples.sites.stack_of(fault.site);
            let site = attach.sample_site(process, stack, fault.at);
            activity.faults.set_site(place, site, fault.tid);
        }
    }
}
