//! Checks that the names in a filter exist in the capture. A filter that matches nothing would give a meaningless
//! answer, and a limit that is always kept.
//!
//! The error is one sentence with the most similar names. It starts with the missing name; the caller knows which
//! option or key contains it.
//!
//! Cost: a look at all processes and heaps; for types and threads, if any are named, a look at all sites and rows.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::naming::{UNKNOWN_TYPE, allocated_type};
use super::{Mask, ReportFilter};
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::nearest::no_such;
use crate::pattern::Pattern;
use crate::units::{Layer, Tid};

impl ReportFilter {
    /// Checks whether the process and the heap exist, in this order.
    pub fn check_places(&self, trace: &Trace) -> [Result<(), String>; 2] {
        [self.process.as_ref().map_or(Ok(()), |wanted| check_process(trace, wanted)), self.check_heap(trace)]
    }

    fn check_heap(&self, trace: &Trace) -> Result<(), String> {
        let Some(wanted) = &self.heap else { return Ok(()) };
        // Heaps that only frees tell of, too.
        let freed = trace.unmatched.iter().filter(|free| free.heap.is_none() && free.layer != Layer::Commit);
        let freed: BTreeSet<u64> = freed.map(|free| free.handle).collect();
        let freed = freed.into_iter().map(|handle| format!("{handle:#x}"));
        let keys: BTreeSet<String> = trace.heaps.iter().filter_map(|heap| heap.key()).chain(freed).collect();
        let lower = wanted.to_lowercase();
        match keys.iter().any(|key| key.to_lowercase() == lower) {
            true => Ok(()),
            false => Err(no_such("heap or tracker", wanted, keys)),
        }
    }

    /// Checks whether each of the types exists, as far as names are known. `mask` are the sites whose names were
    /// requested.
    pub fn check_types(&self, trace: &Trace, names: &Names, mask: &Mask) -> Vec<Result<(), String>> {
        if self.sites.types.is_empty() {
            return Vec::new();
        }
        let asked = (0..trace.sites.len() as u32).into_par_iter().map(SiteId).filter(|&id| mask.classes(id) != 0);
        let types = asked.map(|id| allocated_type(trace, names, trace.site(id)).unwrap_or(UNKNOWN_TYPE));
        let types: BTreeSet<&str> = types.fold(BTreeSet::new, with).reduce(BTreeSet::new, |mut all, some| {
            all.extend(some);
            all
        });
        self.sites.types.iter().map(|wanted| check_type(wanted, &types)).collect()
    }
}

/// Checks whether a known type matches `wanted`.
fn check_type(wanted: &str, types: &BTreeSet<&str>) -> Result<(), String> {
    let pattern = Pattern::new(wanted);
    if types.is_empty() || types.iter().any(|name| pattern.fits(name)) {
        return Ok(());
    }
    let known = types.iter().filter(|name| **name != UNKNOWN_TYPE);
    Err(match known.clone().count() {
        0 => format!(
            "no type is called \"{wanted}\": no types are known, because symbols are missing (PDBs with heap allocation \
             sites; give their folder with --symbols)"
        ),
        _ => no_such("type", wanted, known),
    })
}

fn with<'a>(mut all: BTreeSet<&'a str>, one: &'a str) -> BTreeSet<&'a str> {
    all.insert(one);
    all
}

/// Checks whether there is a process with this name or id.
pub(crate) fn check_process(trace: &Trace, wanted: &str) -> Result<(), String> {
    let has_freed = || trace.unmatched.iter().any(|free| wanted.parse() == Ok(free.pid.0));
    if trace.processes.iter().any(|process| process.is_called(wanted)) || has_freed() {
        return Ok(());
    }
    if wanted.bytes().all(|byte| byte.is_ascii_digit()) {
        let ids = trace.processes.iter().map(|process| process.pid.to_string());
        return Err(no_such("process", wanted, ids.collect::<BTreeSet<_>>()));
    }
    Err(no_such("process", wanted, trace.processes.iter().map(|process| process.label()).collect::<BTreeSet<_>>()))
}

/// Checks whether a thread allocated anything.
pub fn check_thread(trace: &Trace, wanted: Tid) -> Result<(), String> {
    let threads = || trace.rows.chunks().flat_map(|chunk| (0..chunk.len()).map(move |at| chunk.thread(at)));
    if threads().any(|id| id == wanted) {
        return Ok(());
    }
    let known: BTreeSet<Tid> = threads().filter(|&id| id != Tid::NONE).collect();
    Err(no_such("thread that allocated", &wanted.0.to_string(), known.iter().map(|id| id.0.to_string())))
}
