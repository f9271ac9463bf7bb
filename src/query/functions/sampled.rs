//! What processors ran, by function: of each how many samples found it, itself or in what it called.
//!
//! Places where samples found a process are sites of their own ([`Samples::sites`](crate::model::Samples)), of
//! which functions are made as of those that allocate. Samples are no memory: nothing here has a layer.
//!
//! Where a processor was is no return address: an innermost function is looked up at the address itself.
//!
//! Cost: functions and trees as ever; sums of functions a step for each frame of each place, those of a
//! tree a pass over the places.

use super::{Forest, FunctionId, Functions, NodeSums, PathId};
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::query::{Cancel, Cancelled, Fold};
use crate::symbols::{FrameKind, Names};
use crate::tables::KeyedMap;

impl Functions {
    /// The functions of all places where samples found a process. Without `fold` time in the allocator is
    /// what it is: time.
    pub fn of_samples(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_stacks(trace, &sampled_sites(trace), (names, fold), FrameKind::Sampled, cancel)
    }
}

impl Forest {
    /// By node how many samples are at it and under it; `counts` by place as
    /// [`sample_sums`](crate::query::sample_sums) has them, of a tree over [`Functions::of_samples`].
    pub fn samples(&self, counts: &[u32]) -> NodeSums<'_, u64> {
        NodeSums::by_place(self, |_, site| counts.get(site.0 as usize).map(|&count| count.into()))
    }
}

/// The places, by number; of threads of no process that is known without a stack.
fn sampled_sites(trace: &Trace) -> Vec<Site> {
    let known = trace.processes.len();
    let site = |site: &Site| match (site.caller.0 as usize) < known {
        true => *site,
        false => Site { stack: NodeId::ROOT, caller: ProcessId(0), ..*site },
    };
    trace.activity.samples.sites.iter().map(site).collect()
}

/// A function in a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampledFunction {
    /// The process.
    pub process: ProcessId,
    /// Of [`Functions::of_samples`].
    pub function: FunctionId,
    /// Samples that found it.
    pub own: u64,
    /// Samples with it in their stack, once however often it recurs.
    pub total: u64,
}

/// The functions of each process with samples, those with most in all first; `counts` by place as
/// [`sample_sums`](crate::query::sample_sums) has them.
pub fn sampled_functions(
    trace: &Trace,
    functions: &Functions,
    counts: &[u32],
    cancel: &Cancel,
) -> Result<Vec<SampledFunction>, Cancelled> {
    let mut of_paths: KeyedMap<(ProcessId, PathId), u64> = KeyedMap::default();
    for ((id, site), &count) in (0..).map(SiteId).zip(&trace.activity.samples.sites).zip(counts).filter(|(_, count)| **count > 0)
    {
        let path = functions.path(id);
        if path != PathId::ROOT {
            *of_paths.entry((site.caller, path)).or_default() += u64::from(count);
        }
    }
    let mut sums: KeyedMap<(ProcessId, FunctionId), (u64, u64)> = KeyedMap::default();
    for (n, ((process, innermost), count)) in of_paths.into_iter().enumerate() {
        if n % 1024 == 0 {
            cancel.check()?;
        }
        let mut path = innermost;
        while let Some(function) = functions.function(path) {
            let (own, total) = sums.entry((process, function)).or_default();
            *own += if path == innermost { count } else { 0 };
            // Of places of one function in a stack the outermost counts.
            *total += if functions.recurs(path) { 0 } else { count };
            path = functions.parent(path);
        }
    }
    let sampled = |((process, function), (own, total))| SampledFunction { process, function, own, total };
    let mut all: Vec<SampledFunction> = sums.into_iter().map(sampled).collect();
    all.sort_unstable_by_key(|of| (std::cmp::Reverse((of.total, of.own)), of.process, of.function));
    Ok(all)
}
