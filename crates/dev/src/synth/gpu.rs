//! GPU memory beside heap traffic: a budget, what is used and what is committed, local to the adapter and not.
//!
//! All of it is derived from the traffic and uses no random numbers, so the traffic is the same with and without it.

use crate::events::{ActivityEvent, Adapter, Event, GpuChange, GpuKind, GpuMemory, SegmentGroup};

/// The adapter of the machine.
pub const ADAPTER: Adapter = Adapter { address: 0xFFFF_B50C_1E2A_5000, number: 0 };
/// Bytes by which the numbers change.
const STEP: u64 = 64 << 10;
/// Bytes that a program has on the adapter before it allocates anything.
const FIRST: u64 = 24 << 20;
/// Budgets: that of the adapter's memory, which falls by a half once, and that of the machine's.
const BUDGET: u64 = 96 << 20;
const SHARED_BUDGET: u64 = 8 << 30;
/// Bytes of the heaps at which the budget falls.
const BUDGET_FALLS: u64 = 4 << 20;
/// Moments in a trace at which the numbers may change.
pub(super) const CHANGES: u64 = 400;

/// The numbers of one process, as its last events have them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GpuSizes([[u64; 3]; 2]);

impl GpuSizes {
    /// The events of a process whose heaps take `used` bytes.
    pub(super) fn change(&mut self, used: u64) -> Vec<Event> {
        use GpuKind::{Budget, Commitment, Usage};
        use SegmentGroup::{Local, NonLocal};
        let budget = if used >= BUDGET_FALLS { BUDGET / 2 } else { BUDGET };
        let committed = FIRST + used * 8 / STEP * STEP;
        let resident = committed.min(budget);
        let shared = (committed - resident) + used / 4 / STEP * STEP;
        let all = [
            (Budget, Local, budget),
            (Budget, NonLocal, SHARED_BUDGET),
            (Usage, Local, resident),
            (Usage, NonLocal, shared),
            (Commitment, Local, committed),
            (Commitment, NonLocal, shared),
        ];
        let mut told = Vec::new();
        for (kind, group, new) in all {
            let now = &mut self.0[group as usize][kind as usize];
            let old = std::mem::replace(now, new);
            if old != new {
                let change = GpuChange { kind, adapter: ADAPTER, group, new, old };
                told.push(Event::Activity(Box::new(ActivityEvent::Gpu(GpuMemory::Changed(change)))));
            }
        }
        told
    }
}
