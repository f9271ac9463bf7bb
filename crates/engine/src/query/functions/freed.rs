//! Functions and trees over the stacks that freed memory.
//!
//! Freeing stacks have sites of their own ([`Trace::free_sites`]); one more site stands for frees without a stack.
//! Functions and forests over them are built like those over allocating sites; their sums are those of the freed rows.
//!
//! Cost: functions and forests as usual, over the freeing sites; the sums take one parallel scan of the rows.

use super::Functions;
use crate::model::{HeapId, NodeId, ProcessId, Site, Trace};
use crate::names::Names;
use crate::query::scan::{SiteSums, WorkerSums};
use crate::query::{ByClass, Cancel, Cancelled, Fold, Index, LifetimeClass, Mask};
use crate::units::{Interval, Layer, Ticks};

impl Functions {
    /// Looks up the functions of all freeing sites, followed by the site without a stack; see [`freed_sums`].
    pub fn of_frees(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        let nobody = Site { heap: HeapId(0), stack: NodeId::ROOT, caller: ProcessId(0), first: Ticks(0) };
        let sites: Vec<Site> = trace.free_sites.iter().copied().chain([nobody]).collect();
        Self::of_sites(trace, &sites, names, fold, cancel)
    }
}

/// Adds up the rows of one layer in `mask` that were freed in an interval, by site of [`Functions::of_frees`].
pub fn freed_sums(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    layer: Layer,
    cancel: &Cancel,
) -> Result<Vec<ByClass>, Cancelled> {
    let trace = index.trace();
    let nobody = trace.free_sites.len();
    let all = SiteSums::<4>::new(nobody + 1);
    let parts = index.fold(
        cancel,
        || all.worker(),
        |sums, visited| {
            let (chunk, sites) = (visited.chunk, visited.chunk.sites());
            visited.each_in(interval, |at, class| {
                let has_died = matches!(class, LifetimeClass::Aifi | LifetimeClass::Aofi);
                if has_died && mask.has(sites[at], class) && trace.layer_of(trace.site(sites[at])) == layer {
                    let by = chunk.freed_at(at).map_or(nobody as u32, |site| site.0);
                    sums.add_row(by, class as usize, chunk.size(at));
                }
            });
        },
    )?;
    parts.into_iter().for_each(WorkerSums::finish);
    Ok(all.by_class())
}
