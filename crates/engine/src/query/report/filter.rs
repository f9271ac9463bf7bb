//! The filter of a report.

use crate::model::{HeapId, ProcessId, Trace};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, Mask, SiteChoice};
use crate::units::Layer;

/// Selects the rows of a report; a row must match all given conditions.
#[derive(Clone, Debug, Default)]
pub struct ReportFilter {
    /// Name of a process in any case, or its id.
    pub process: Option<String>,
    /// Layer.
    pub layer: Option<Layer>,
    /// Handle in hex, or name of a tracker, in any case.
    pub heap: Option<String>,
    /// Conditions on types and frames.
    pub sites: SiteChoice,
}

impl ReportFilter {
    /// Returns the matching sites.
    pub fn named_mask(&self, trace: &Trace, names: &Names, cancel: &Cancel) -> Result<Mask, Cancelled> {
        let mut mask = self.mask(trace);
        self.sites.narrow(&mut mask, trace, names, cancel)?;
        Ok(mask)
    }

    /// Returns the matching sites, ignoring the conditions on types and frames.
    pub fn mask(&self, trace: &Trace) -> Mask {
        let same = |wanted: &str, name: &str| wanted.to_lowercase() == name.to_lowercase();
        let process_fits = |id: ProcessId| self.process.as_ref().is_none_or(|wanted| trace.process(id).is_called(wanted));
        let heap_fits = |id: HeapId| {
            let heap = trace.heap(id);
            process_fits(heap.process)
                && self.layer.is_none_or(|layer| layer == heap.layer)
                && self.heap.as_ref().is_none_or(|wanted| heap.key().is_some_and(|key| same(wanted, &key)))
        };
        let fits: Vec<bool> = (0..trace.heaps.len()).map(|i| heap_fits(HeapId(i as u32))).collect();
        Mask::of_sites(trace, |_, site| fits[site.heap.0 as usize])
    }
}
