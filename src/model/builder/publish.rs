//! What has been replayed, as a trace for others to look at.
//!
//! Cost: rows and the order of deaths are shared with other publications, but for what
//! came since and a chunk that is not full; sites, stacks and heaps are copied.

use std::sync::Arc;

use super::super::trace::Derived;
use super::super::{Loss, Quality, Rows, Trace};
use super::{Builder, InputState};
use crate::units::{Interval, Pid, Ticks};

impl Builder {
    fn published_rows(&mut self, complete: bool) -> Rows {
        self.leave_places();
        if complete {
            self.tidy_at_end();
        }
        let Self { rows, matcher, .. } = self;
        let death = |row| rows.death(row);
        let (horizon, by_death) = match complete {
            false => (self.now, matcher.deaths_before(self.now, death)),
            true => (Ticks::NEVER, matcher.finish(death)),
        };
        rows.publish(horizon, by_death)
    }

    /// Name and id of the latest life of a process.
    pub fn process_name(&self, pid: Pid) -> String {
        let lives = self.processes.list.iter().rev().filter(|process| process.pid == pid);
        let name = lives.map(|process| process.name.as_str()).find(|name| !name.is_empty());
        name.map_or_else(|| format!("Unknown ({pid})"), |name| format!("{name} ({pid})"))
    }

    /// What of the counters was left out, in one sentence.
    pub fn counters_left_out(&self) -> Option<String> {
        self.counters.left_out()
    }

    /// Publishes everything up to now. Rows are shared with later publications;
    /// sites, stacks and heaps are copied.
    pub fn publish(&mut self, input: InputState) -> Trace {
        if input.complete {
            self.release_held(0);
            self.settle_keyed(i64::MAX);
        }
        self.settle_framed();
        self.name_keyed();
        self.matcher.settle();
        let load_bytes = self.bytes();
        let rows = self.published_rows(input.complete);
        let findings = self.matcher.findings();
        let unmatched = self.unmatched(&findings.kept);
        let (sites, free_sites) = (self.sites.published(&mut self.stacks), self.frees.sites.published(&mut self.stacks));
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
            processes: self.processes.list.clone(),
            heaps: self.heaps.list.clone(),
            sites,
            free_sites,
            stacks: self.stacks.stacks().clone(),
            rows,
            unmatched,
            thread_names: Arc::clone(&self.thread_names),
            volumes: self.volumes.clone(),
            counters: self.counters.publish(&self.processes.list),
            losses: Loss::all(input.losses, &self.reported),
            quality: Quality {
                events_lost: self.losses.0,
                buffers_lost: self.losses.1,
                unmatched_frees: self.unmatched_frees.count + findings.unmatched,
                superseded_allocations: findings.superseded + self.pages.superseded,
                problems: input.problem_count,
                inferred_frees: self.owners.inferred,
            },
            counts: input.counts,
            problems: input.problems,
            complete: input.complete,
            lineage: self.lineage,
            derived: Derived::default(),
        }
    }
}
