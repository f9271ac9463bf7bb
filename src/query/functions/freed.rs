//! Who freed: functions and trees over the stacks with which rows ended.
//!
//! Those who freed are sites of their own ([`Trace::free_sites`]); one more stands for
//! nobody, for what ended without a stack. Functions and forests over them are made as
//! those over the sites that allocate; their sums are those of the rows that died.
//!
//! Cost: functions and forests as ever, by sites that freed; sums one parallel scan of the
//! rows.

use super::Functions;
use crate::model::{HeapId, NodeId, ProcessId, Site, Trace};
use crate::query::scan::{SiteSums, WorkerSums};
use crate::query::{ByClass, Cancel, Cancelled, Fold, Index, LifetimeClass, Mask};
use crate::symbols::Names;
use crate::units::{Interval, Layer, Ticks};

impl Functions {
    /// The functions of all who freed, and of nobody behind them; see [`freed_sums`].
    pub fn of_frees(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        let nobody = Site { heap: HeapId(0), stack: NodeId::ROOT, caller: ProcessId(0), first: Ticks(0) };
        let sites: Vec<Site> = trace.free_sites.iter().copied().chain([nobody]).collect();
        Self::of_sites(trace, &sites, names, fold, cancel)
    }
}

/// What died in an interval, of the rows of one layer that `mask` wants, by who freed it:
/// by site of [`Functions::of_frees`].
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
