//! How many events of each kind a capture holds, as `info --json` names them.

use serde::Serialize;

use super::Event;
use super::hooks::{class, gpu, hook, injected, pix, tracker};
use crate::etl::{EventId, RawEvent};
use crate::json::is_zero;
use crate::stored::stored;

/// Defines the counts once: their fields, their names and how they are added up.
macro_rules! event_counts {
    ($($name:ident),*; if any $($rare:ident),*) => {
        /// Event records by kind. `total` counts every record of every provider.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
        #[allow(missing_docs, reason = "the names are those of the machine interface")]
        pub struct EventCounts {
            $(pub $name: u64,)*
            $(#[serde(skip_serializing_if = "is_zero")] pub $rare: u64,)*
            /// Parts of WPR's heap snapshots, which only WPA can read.
            #[serde(skip)]
            pub heap_snapshot: u64,
        }

        stored!(struct EventCounts { $($name,)* $($rare,)* heap_snapshot });

        impl EventCounts {
            /// Adds the counts of another part of the capture.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                $(self.$rare += other.$rare;)*
                self.heap_snapshot += other.heap_snapshot;
            }

            /// All counts with their names, in the order of the machine interface.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name),)* $((stringify!($rare), self.$rare),)*].into_iter()
            }
        }
    };
}

event_counts! {
    total, heap_create, heap_destroy, heap_alloc, heap_free, heap_realloc, virtual_alloc, virtual_free, tracker_open,
    tracker_close, tracker_alloc, tracker_free, tracker_realloc, stack, stack_key_ref, stack_key_definition, inline_stack,
    process_start, process_end, process_rundown, image_load, image_unload, image_rundown, image_id_rsds;
    if any hard_fault, demand_zero_fault, copy_on_write_fault, transition_fault, guard_page_fault, hard_page_fault,
    access_violation, gpu_usage, gpu_budget, gpu_commitment, gpu_allocation, pix_counter, pix_timing, view_map, view_unmap,
    view_rundown
}

/// Kernel hooks that are counted.
const COUNTED: [u16; 32] = [
    hook::TRANSITION_FAULT,
    hook::DEMAND_ZERO_FAULT,
    hook::COPY_ON_WRITE_FAULT,
    hook::GUARD_PAGE_FAULT,
    hook::HARD_PAGE_FAULT,
    hook::ACCESS_VIOLATION,
    hook::HARD_FAULT,
    hook::HEAP_CREATE,
    hook::HEAP_DESTROY,
    hook::HEAP_ALLOC,
    hook::HEAP_FREE,
    hook::HEAP_REALLOC,
    hook::VIRTUAL_ALLOC,
    hook::VIRTUAL_FREE,
    hook::STACK,
    hook::STACK_KEY_REF_KERNEL,
    hook::STACK_KEY_REF_USER,
    hook::STACK_KEY_CREATE,
    hook::STACK_KEY_DELETE,
    hook::STACK_KEY_RUNDOWN,
    hook::PROCESS_START,
    hook::PROCESS_END,
    hook::PROCESS_RUNDOWN_START,
    hook::PROCESS_RUNDOWN_END,
    hook::IMAGE_LOAD,
    hook::IMAGE_UNLOAD,
    hook::IMAGE_RUNDOWN_START,
    hook::IMAGE_RUNDOWN_END,
    hook::VIEW_MAP,
    hook::VIEW_UNMAP,
    hook::VIEW_RUNDOWN_START,
    hook::VIEW_RUNDOWN_END,
];

/// One more than the largest counted hook.
const HOOKS: usize = hook::STACK_KEY_REF_USER as usize + 1;

/// Number of each hook in `COUNTED`, from 1; 0 for all others. A table, because a branch for each kind
/// of event would be mispredicted as often as kinds change.
static NUMBERS: [u8; HOOKS] = {
    let mut numbers = [0; HOOKS];
    let mut i = 0;
    while i < COUNTED.len() {
        numbers[COUNTED[i] as usize] = i as u8 + 1;
        i += 1;
    }
    numbers
};

/// Counts of one buffer's events: kernel events by hook number, the others by kind.
#[derive(Debug)]
pub(super) struct Tally {
    kernel: [u32; COUNTED.len() + 1],
    others: EventCounts,
}

impl Default for Tally {
    fn default() -> Self {
        Self { kernel: [0; COUNTED.len() + 1], others: EventCounts::default() }
    }
}

impl Tally {
    /// Counts an event of the kernel.
    #[inline(always)]
    pub(super) fn count_hook(&mut self, hook: u16) {
        self.kernel[usize::from(NUMBERS.get(usize::from(hook)).copied().unwrap_or(0))] += 1;
    }

    /// Counts an event with any other header; `hook` if it is a kernel event all the same.
    pub(super) fn count(&mut self, event: &RawEvent<'_>, hook: Option<u16>) {
        match hook {
            Some(hook) => self.count_hook(hook),
            None => {
                self.others.total += 1;
                self.others.counter(event.id).into_iter().for_each(|counter| *counter += 1);
            }
        }
        for item in event.extended {
            self.others.inline_stack += u64::from(item.is_stack());
        }
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> EventCounts {
        let mut counts = self.others;
        counts.total += self.kernel.iter().copied().map(u64::from).sum::<u64>();
        for (&hook, &count) in COUNTED.iter().zip(&self.kernel[1..]) {
            counts.kernel_counter(hook).into_iter().for_each(|counter| *counter += u64::from(count));
        }
        counts
    }
}

impl EventCounts {
    /// Counts an event that a mapping makes one of a tracker.
    pub(super) fn count_tracker(&mut self, event: &Event) {
        let counter = match event {
            Event::Alloc { .. } => &mut self.tracker_alloc,
            Event::Free { .. } => &mut self.tracker_free,
            Event::Realloc { .. } => &mut self.tracker_realloc,
            _ => return,
        };
        *counter += 1;
    }

    fn counter(&mut self, id: EventId) -> Option<&mut u64> {
        match id {
            EventId::Provider { provider: class::CUSTOM_HEAP, id } => match id {
                tracker::OPEN => Some(&mut self.tracker_open),
                tracker::CLOSE => Some(&mut self.tracker_close),
                tracker::ALLOC => Some(&mut self.tracker_alloc),
                tracker::FREE => Some(&mut self.tracker_free),
                tracker::REALLOC => Some(&mut self.tracker_realloc),
                _ => None,
            },
            EventId::Provider { provider: class::DXG_KRNL, id } => match id {
                gpu::USAGE => Some(&mut self.gpu_usage),
                gpu::BUDGET => Some(&mut self.gpu_budget),
                gpu::COMMITMENT => Some(&mut self.gpu_commitment),
                gpu::ALLOCATION_START..=gpu::ALLOCATION_RUNDOWN => Some(&mut self.gpu_allocation),
                _ => None,
            },
            EventId::Provider { provider: class::PIX, id } => match id {
                pix::COUNTER => Some(&mut self.pix_counter),
                pix::BLOCK_1 | pix::TIMING_HEADER | pix::BLOCK_2 => Some(&mut self.pix_timing),
                _ => None,
            },
            EventId::Provider { provider: class::HEAP_SNAPSHOT, .. } => Some(&mut self.heap_snapshot),
            EventId::Class { class: class::IMAGE_ID, opcode: injected::RSDS } => Some(&mut self.image_id_rsds),
            _ => None,
        }
    }

    fn kernel_counter(&mut self, hook: u16) -> Option<&mut u64> {
        Some(match hook {
            hook::TRANSITION_FAULT => &mut self.transition_fault,
            hook::DEMAND_ZERO_FAULT => &mut self.demand_zero_fault,
            hook::COPY_ON_WRITE_FAULT => &mut self.copy_on_write_fault,
            hook::GUARD_PAGE_FAULT => &mut self.guard_page_fault,
            hook::HARD_PAGE_FAULT => &mut self.hard_page_fault,
            hook::ACCESS_VIOLATION => &mut self.access_violation,
            hook::HARD_FAULT => &mut self.hard_fault,
            hook::HEAP_CREATE => &mut self.heap_create,
            hook::HEAP_DESTROY => &mut self.heap_destroy,
            hook::HEAP_ALLOC => &mut self.heap_alloc,
            hook::HEAP_FREE => &mut self.heap_free,
            hook::HEAP_REALLOC => &mut self.heap_realloc,
            hook::VIRTUAL_ALLOC => &mut self.virtual_alloc,
            hook::VIRTUAL_FREE => &mut self.virtual_free,
            hook::STACK => &mut self.stack,
            hook::STACK_KEY_REF_KERNEL | hook::STACK_KEY_REF_USER => &mut self.stack_key_ref,
            hook::STACK_KEY_CREATE | hook::STACK_KEY_DELETE | hook::STACK_KEY_RUNDOWN => &mut self.stack_key_definition,
            hook::PROCESS_START => &mut self.process_start,
            hook::PROCESS_END => &mut self.process_end,
            hook::PROCESS_RUNDOWN_START | hook::PROCESS_RUNDOWN_END => &mut self.process_rundown,
            hook::IMAGE_LOAD => &mut self.image_load,
            hook::IMAGE_UNLOAD => &mut self.image_unload,
            hook::IMAGE_RUNDOWN_START | hook::IMAGE_RUNDOWN_END => &mut self.image_rundown,
            hook::VIEW_MAP => &mut self.view_map,
            hook::VIEW_UNMAP => &mut self.view_unmap,
            hook::VIEW_RUNDOWN_START | hook::VIEW_RUNDOWN_END => &mut self.view_rundown,
            _ => return None,
        })
    }

    /// Whether there is anything to account for: heap, VirtualAlloc or tracker events.
    pub fn has_memory_events(&self) -> bool {
        self.heap_create + self.heap_destroy + self.heap_alloc + self.heap_free + self.heap_realloc > 0
            || self.virtual_alloc + self.virtual_free > 0
            || self.tracker_open + self.tracker_close + self.tracker_alloc + self.tracker_free + self.tracker_realloc > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_that_has_a_counter_is_counted() {
        for hook in 0..=u16::MAX {
            assert_eq!(EventCounts::default().kernel_counter(hook).is_some(), COUNTED.contains(&hook), "{hook:#x}");
        }
    }
}
