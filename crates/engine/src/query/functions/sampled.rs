//! CPU samples by function: how many samples hit each function itself, and how many hit it or its callees.
//!
//! Sampled stacks have sites of their own ([`Samples::sites`](crate::model::Samples)), whose functions are built like
//! those of allocating sites. Samples are not memory, so nothing here has a layer.
//!
//! A sampled address is not a return address, so the innermost function is looked up at the address itself.
//!
//! Cost: functions and trees as usual; sums by function one step per frame of each site, those of a tree a pass over
//! the sites.

use super::{Forest, FunctionId, Functions, NodeSums, PathId};
use crate::model::{NodeId, ProcessId, Site, SiteId, Trace};
use crate::names::{FrameKind, Names};
use crate::query::{Cancel, Cancelled, Fold};
use crate::tables::KeyedMap;

impl Functions {
    /// Looks up the functions of all sampled sites. Without `fold`, time in the allocator stays visible as such.
    pub fn of_samples(trace: &Trace, names: &Names, fold: Fold, cancel: &Cancel) -> Result<Self, Cancelled> {
        Self::of_stacks(trace, &sampled_sites(trace), (names, fold), FrameKind::Sampled, cancel)
    }
}

impl Forest {
    /// Returns the samples at each node and below it, of a tree over [`Functions::of_samples`]. `counts` are by site,
    /// as returned by [`sample_sums`](crate::query::sample_sums).
    pub fn samples(&self, counts: &[u32]) -> NodeSums<'_, u64> {
        NodeSums::by_place(self, |_, site| counts.get(site.0 as usize).map(|&count| count.into()))
    }
}

/// Returns the sampled sites, by number; those of threads without a known process get no stack.
fn sampled_sites(trace: &Trace) -> Vec<Site> {
    let known = trace.processes.len();
    let site = |site: &Site| match (site.caller.0 as usize) < known {
        true => *site,
        false => Site { stack: NodeId::ROOT, caller: ProcessId(0), ..*site },
    };
    trace.activity.samples.sites.iter().map(site).collect()
}

/// A function in a process, with its CPU samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampledFunction {
    /// The process.
    pub process: ProcessId,
    /// Function of [`Functions::of_samples`].
    pub function: FunctionId,
    /// Samples in the function itself.
    pub own: u64,
    /// Samples with the function in their stack; recursion counts once.
    pub total: u64,
}

/// Returns the functions of each process with samples, by total, largest first. `counts` are by site, as returned by
/// [`sample_sums`](crate::query::sample_sums).
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
            // A recursive function counts at its outermost occurrence.
            *total += if functions.recurs(path) { 0 } else { count };
            path = functions.parent(path);
        }
    }
    let sampled = |((process, function), (own, total))| SampledFunction { process, function, own, total };
    let mut all: Vec<SampledFunction> = sums.into_iter().map(sampled).collect();
    all.sort_unstable_by_key(|of| (std::cmp::Reverse((of.total, of.own)), of.process, of.function));
    Ok(all)
}
