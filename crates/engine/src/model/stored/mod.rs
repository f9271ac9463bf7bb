//! A complete trace as bytes, from which the same build of the program makes it again without reading its files: a *head*
//! with everything that is small, and *blocks* with the columns of rows, stacks and sites as they are in memory.
//!
//! Blocks are at most some MB long. They are read by all workers, straight into the columns; who keeps them checks that they
//! are what was written. All the same nothing is believed that would make a query fail: numbers of rows, sites, nodes,
//! heaps and processes are in range, and rows are in their order.
//!
//! A trace of which a part was left out is not stored, because what is left out depends on the memory limit.
//!
//! Cost: nothing for traces that are not stored. Reading is a copy of each column, and a pass over rows and deaths, on all CPUs.

mod blocks;
mod check;
mod columns;

use std::io;
use std::path::PathBuf;

use super::rows::Sites;
use super::trace::{Derived, Lineage};
use super::{Activity, Rows, Scope, Trace};
use crate::stored::{In, Out, Stored};
use crate::units::Ticks;

pub use blocks::{BlockSink, BlockSource, Unrestored};
pub(super) use blocks::{Blocks, Fill};

impl Trace {
    /// Whether the trace can be stored: all of its files was read, and nothing is left out for want of memory.
    pub fn is_storable(&self) -> bool {
        let is_whole = self.scope == Scope::default() && self.cut.is_none() && self.forgotten.is_none();
        // Columns are stored as they are in memory.
        self.complete && is_whole && self.activity.samples.cut.is_none() && cfg!(target_endian = "little")
    }

    /// Writes the blocks of a [storable](Self::is_storable) trace; returns its head. The folders of symbols beside its files are
    /// left out.
    pub fn store(&self, sink: &mut impl BlockSink) -> io::Result<Vec<u8>> {
        let Self {
            clock,
            span,
            scope: _,
            cut: _,
            forgotten: _,
            load_bytes,
            processes,
            heaps,
            sites,
            free_sites,
            stacks,
            rows,
            thread_names,
            tracker_names,
            volumes,
            symbol_folders: _,
            counters,
            activity,
            losses,
            quality,
            unmatched,
            reservations,
            thread_stacks,
            counts,
            copies,
            machine,
            problems,
            complete: _,
            lineage: _,
            derived: _,
        } = self;
        let mut head = Out::default();
        let out = &mut head;
        rows.store(sink)?.put(out);
        columns::store_stacks(stacks, sink)?.put(out);
        columns::store_sites(sites, sink)?.put(out);
        columns::store_sites(free_sites, sink)?.put(out);
        (*clock, *span, *load_bytes).put(out);
        processes.put(out);
        heaps.put(out);
        let mut names: Vec<_> = thread_names.iter().map(|(&thread, name)| (thread, name.clone())).collect();
        names.sort_unstable_by_key(|&(thread, _)| thread);
        names.put(out);
        tracker_names.put(out);
        volumes.put(out);
        counters.put(out);
        activity.put(out);
        losses.put(out);
        quality.put(out);
        unmatched.put(out);
        reservations.put(out);
        thread_stacks.put(out);
        counts.put(out);
        copies.put(out);
        machine.put(out);
        problems.put(out);
        Ok(head.finish())
    }

    /// Makes a trace of its head and blocks. `go_on` is called now and then with the bytes that were read; if it returns `false`,
    /// the result is [`Unrestored::Stopped`].
    pub fn restore(
        head: &[u8],
        source: &impl BlockSource,
        symbol_folders: Vec<PathBuf>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Self, Unrestored> {
        let mut head = In::new(head)?;
        let from = &mut head;
        let mut blocks = Blocks::new(source, go_on);
        let row_heads = Stored::get(from)?;
        let (nodes, allocating, freeing) = Stored::get(from)?;
        let rows = Rows::restore(row_heads, Sites { allocating, freeing }, &mut blocks)?;
        let stacks = columns::stacks(nodes, &mut blocks)?;
        let sites = columns::sites(allocating, &mut blocks)?;
        let free_sites = columns::sites(freeing, &mut blocks)?;
        blocks.end()?;
        let (clock, span, load_bytes) = Stored::get(from)?;
        let (processes, heaps) = (Stored::get(from)?, Stored::get(from)?);
        let thread_names = Vec::get(from)?.into_iter().collect();
        let (tracker_names, volumes, counters) = (Stored::get(from)?, Stored::get(from)?, Vec::get(from)?);
        let trace = Self {
            clock,
            span,
            scope: Scope::default(),
            cut: None,
            forgotten: None,
            load_bytes,
            processes,
            heaps,
            sites,
            free_sites,
            stacks,
            rows,
            thread_names: std::sync::Arc::new(thread_names),
            tracker_names,
            volumes,
            symbol_folders,
            activity: Activity::get(from, &counters)?,
            counters,
            losses: Stored::get(from)?,
            quality: Stored::get(from)?,
            unmatched: Stored::get(from)?,
            reservations: Stored::get(from)?,
            thread_stacks: Stored::get(from)?,
            counts: Stored::get(from)?,
            copies: Stored::get(from)?,
            machine: Stored::get(from)?,
            problems: Stored::get(from)?,
            complete: true,
            lineage: Lineage::new(),
            derived: Derived::default(),
        };
        head.end()?;
        check::check(&trace)?;
        Ok(trace)
    }
}

/// Whether moments are in order, from the first and the last of each part.
pub(super) fn are_in_order(parts: impl IntoIterator<Item = (Ticks, Ticks)>) -> bool {
    let mut last = Ticks::BEFORE_TRACE;
    parts.into_iter().all(|(from, to)| {
        let is_in_order = last <= from && from <= to;
        last = to;
        is_in_order
    })
}
