//! Stacks of CPU samples and page faults. They come as those of the kernel's other events, by raw time and thread,
//! mostly in two parts. The user part comes when the thread leaves the kernel, for all that happened
//! there since it entered.
//!
//! Samples wait apart from rows, and their kernel parts apart from those of rows: a thread that is
//! sampled in the kernel has nothing to do with memory, which need not wait for it. Therefore the stack
//! of a block, which its thread writes in user mode, completes no sample; only a user part that the
//! kernel writes does.
//!
//! A sample or fault that has no stack after so many newer ones gets its address alone as its stack.

use std::collections::VecDeque;

use super::fragments::KernelFragments;
use super::pending::Pending;
use super::sites::SiteTable;
use crate::model::SiteId;
use crate::model::activity::NOBODY;
use crate::model::stack::StackRef;

/// Sites of samples and faults, and those that wait for their stack.
#[derive(Debug, Default)]
pub(in crate::model) struct SampleStacks {
    pub(in crate::model) sites: SiteTable,
    /// Samples and faults that wait; their numbers ([`PlacedEvent`](crate::model::activity::PlacedEvent)) stand for row numbers.
    pub(super) waiting: Pending,
    pub(super) fragments: KernelFragments,
    /// The latest samples and faults: number of the first of a moment, how many there are, their address.
    pub(super) recent: VecDeque<(u32, u16, u64)>,
}

impl SampleStacks {
    /// All stacks that are known so far.
    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut StackRef> {
        self.sites.stacks().chain(self.waiting.stacks())
    }

    /// Whether the process of a site is not known.
    pub(in crate::model) fn is_unknown(&self, site: SiteId) -> bool {
        self.sites.key(site).caller == NOBODY
    }
}
