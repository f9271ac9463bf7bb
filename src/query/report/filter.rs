//! Which rows a report is about.

use crate::model::{HeapId, ProcessId, Trace};
use crate::query::{Cancel, Cancelled, Mask, SiteChoice};
use crate::symbols::Names;
use crate::units::Layer;

/// Which rows a report is about; a row must fit all that is given.
#[derive(Clone, Debug, Default)]
pub struct ReportFilter {
    /// Name of a process in any case, or its id.
    pub process: Option<String>,
    /// Layer.
    pub layer: Option<Layer>,
    /// Handle in hex, or name of a tracker, in any case.
    pub heap: Option<String>,
    /// What types and frames must be.
    pub sites: SiteChoice,
}

impl ReportFilter {
    /// The sites that fit.
    pub fn named_mask(&self, trace: &Trace, names: &Names, cancel: &Cancel) -> Result<Mask, Cancelled> {
        let mut mask = self.mask(trace);
        self.sites.narrow(&mut mask, trace, names, cancel)?;
        Ok(mask)
    }

    /// The sites that fit, whatever their types and frames are called.
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
