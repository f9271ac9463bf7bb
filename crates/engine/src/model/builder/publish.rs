//! Publishes what has been replayed, as a trace for others to look at.
//!
//! Cost: rows and the order of deaths are shared with other publications, except for those that came
//! since and a chunk that is not full; sites, stacks and heaps are copied.

use super::{Builder, InputState};
use crate::model::attach::Attach;
use crate::model::trace::Derived;
use crate::model::{Loss, Quality, Rows, Trace};
use crate::units::{Interval, Pid, Ticks};

impl Builder {
    fn published_rows(&mut self, complete: bool) -> Rows {
        self.attach.leave_slots(&mut self.allocations);
        if complete {
            self.tidy_at_end();
        }
        self.allocations.publish(&self.attach.row_sites, self.now, complete)
    }

    /// Name and id of the latest life of a process.
    pub fn process_name(&self, pid: Pid) -> String {
        self.world.process_name(pid)
    }

    /// A sentence about counters that were left out, if any were.
    pub fn counters_left_out(&self) -> Option<String> {
        self.counters.left_out()
    }

    /// A sentence for each of marks, frames, managed code, samples and PIX's events of which some were left out; `is_complete`:
    /// whether no more comes.
    pub fn activity_left_out(&self, is_complete: bool) -> Vec<String> {
        self.activity.left_out(is_complete)
    }

    /// Publishes everything up to now. Rows are shared with later publications;
    /// sites, stacks and heaps are copied. A complete one is the last.
    pub fn publish(&mut self, input: InputState) -> Trace {
        self.take_back();
        if input.complete {
            self.release_held(0);
            self.settle_samples();
        }
        self.world.name_trackers(&input.tracker_names);
        let reached = self.reached();
        let (attach, _) = self.attach();
        if input.complete {
            attach.settle_keyed(i64::MAX);
        }
        attach.settle_framed();
        attach.name_keyed(reached);
        self.allocations.matcher.settle();
        let load_bytes = self.bytes();
        let rows = self.published_rows(input.complete);
        let sums_saturate = self.allocations.rows.sums_may_saturate() && rows.bytes_of_all() > i64::MAX as u128;
        let (unmatched_frees, superseded_allocations, inferred_frees) = self.allocations.mismatches();
        let Attach { stacks, sites, frees, samples, .. } = &mut *self.attach;
        let unmatched = self.allocations.unmatched(&self.world, stacks);
        let (sites, free_sites) = (sites.published(stacks), frees.sites.published(stacks));
        let counters = self.counters.publish(&self.world.processes.list);
        let samples = samples.sites.published(stacks);
        let activity = self.activity.publish(input.complete, self.clock.frequency, samples, &counters);
        let (first, last) = input.times.unwrap_or((self.trace_start, self.trace_start));
        let span = Interval {
            from: Ticks::from_raw(first.min(self.trace_start), self.trace_start),
            to: Ticks::from_raw(last.max(self.trace_start), self.trace_start).next(),
        };
        let span = Interval { to: self.end_of_read(span.from, span.to), ..span };
        Trace {
            clock: self.clock,
            span,
            scope: self.limit.scope().clone(),
            cut: self.cut(),
            forgotten: self.forgotten(),
            load_bytes,
            processes: self.world.processes.list.clone(),
            heaps: self.world.heaps().to_vec(),
            sites,
            free_sites,
            stacks: if input.complete { self.attach.stacks.take_stacks() } else { self.attach.stacks.stacks().clone() },
            rows,
            unmatched,
            symbol_folders: input.symbol_folders,
            reservations: self.allocations.pages.reservations(),
            thread_stacks: self.thread_stacks.clone(),
            thread_names: self.world.thread_names(),
            tracker_names: input.tracker_names,
            volumes: self.world.volumes().to_vec(),
            counters,
            activity,
            losses: Loss::all(input.losses, &self.reported),
            quality: Quality {
                events_lost: self.losses.0,
                buffers_lost: self.losses.1,
                unmatched_frees,
                superseded_allocations,
                problems: input.problem_count,
                inferred_frees,
                duplicate_events: input.duplicate_events,
                sums_saturate,
            },
            counts: input.counts,
            copies: input.copies,
            machine: input.machine,
            problems: input.problems,
            complete: input.complete,
            lineage: self.lineage,
            derived: Derived::default(),
        }
    }
}
