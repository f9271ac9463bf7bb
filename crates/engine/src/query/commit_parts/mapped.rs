//! Mapped views beside the parts of commit: how many a process has at some moments, and their bytes.
//!
//! They are no part of the sum. A view of a file is not committed at all, and shared memory is committed once for all processes
//! that map it; the events do not say which of both a view is.
//!
//! Cost: a pass over the views.

use std::collections::BTreeMap;

use super::{CommitRequest, Deltas, levels};
use crate::model::{ProcessId, Trace};
use crate::query::moments::places_alive;

/// Mapped views of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MappedViews {
    /// Number of views at each moment.
    pub count: Vec<u64>,
    /// Their bytes at each moment.
    pub bytes: Vec<u64>,
}

/// Changes of number and bytes.
#[derive(Default)]
struct Changes {
    count: Deltas,
    bytes: Deltas,
}

/// The mapped views of all processes of a question.
pub(super) struct Mapped {
    of_process: BTreeMap<ProcessId, Changes>,
    moments: usize,
}

impl Mapped {
    /// `None` if the trace has no event of a view.
    pub(super) fn of(trace: &Trace, request: &CommitRequest<'_>) -> Option<Self> {
        let views = &trace.activity.views;
        if views.is_empty() {
            return None;
        }
        let mut of_process: BTreeMap<ProcessId, Changes> = BTreeMap::new();
        for view in views.iter().filter(|view| request.of_process[view.process.0 as usize]) {
            // Windows unmaps the views of a process that ends.
            let end = trace.process(view.process).end.unwrap_or(view.until);
            let alive = places_alive(request.moments, view.since, view.until.min(end));
            let changes = of_process.entry(view.process).or_default();
            for (place, sign) in [(alive.start, 1), (alive.end, -1)] {
                *changes.count.entry(place).or_default() += sign;
                *changes.bytes.entry(place).or_default() += sign * i128::from(view.size);
            }
        }
        Some(Self { of_process, moments: request.moments.len() })
    }

    /// The views of a process.
    pub(super) fn of_process(&self, process: ProcessId) -> MappedViews {
        let none = Changes::default();
        let Changes { count, bytes } = self.of_process.get(&process).unwrap_or(&none);
        MappedViews { count: levels(count, self.moments), bytes: levels(bytes, self.moments) }
    }
}
