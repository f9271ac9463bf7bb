//! The part of a trace that every format exports.

use super::error::ExportError;
use super::format::Value;
use crate::model::{SiteId, Trace};
use crate::names::Names;
use crate::query::{Cancel, Cancelled, Index, Mask, ReportRequest, named_report, sample_counts};
use crate::units::{Interval, Layer};

/// The part of a trace to export, and how.
pub struct Exported<'a> {
    /// The trace, and its chosen rows.
    pub(super) index: &'a Index,
    /// Names of frames and types, as far as they are known.
    pub(super) names: &'a Names,
    /// Interval, filter and groups; stacks are folded if functions are.
    pub(super) request: &'a ReportRequest,
    /// The sites that the filter chooses.
    pub(super) mask: Mask,
    /// Doubts about the numbers; `files` are those that the numbers come from, if the answer names them; see [`json`](super::json).
    pub(super) doubts: Vec<String>,
    pub(super) files: Option<Vec<String>>,
    /// Whether [`json`](super::json) adds what commit is for.
    pub(super) commit: bool,
    /// Whether [`json`](super::json) adds page faults.
    pub(super) faults: bool,
    /// Cancels the work.
    pub(super) cancel: &'a Cancel,
}

impl<'a> Exported<'a> {
    /// The part of a trace that a request asks for, with these names. Cost: a pass over the sites and, if frames are
    /// chosen by name, a look at each frame.
    pub fn new(index: &'a Index, names: &'a Names, request: &'a ReportRequest, cancel: &'a Cancel) -> Result<Self, Cancelled> {
        let mask = request.filter.named_mask(index.trace(), names, cancel)?;
        Ok(Self { index, names, request, mask, doubts: Vec::new(), files: None, commit: false, faults: false, cancel })
    }

    /// Adds doubts about the numbers, and the files that the numbers come from if the answer has to name them.
    pub fn about(self, doubts: Vec<String>, files: Option<&[String]>) -> Self {
        Self { doubts, files: files.map(<[String]>::to_vec), ..self }
    }

    /// Adds what commit is for, if `commit`; see [`json`](super::json). Cost: a pass over the rows.
    pub fn with_commit(self, commit: bool) -> Self {
        Self { commit, ..self }
    }

    /// Adds page faults, if `faults`; see [`json`](super::json). Cost: two passes over the rows, and one over the faults.
    pub fn with_faults(self, faults: bool) -> Self {
        Self { faults, ..self }
    }

    /// Returns whether there is nothing to export: no rows, or no samples.
    pub fn is_empty(&self, value: Value) -> Result<bool, Cancelled> {
        let Self { index, names, request, cancel, .. } = self;
        if value == Value::Samples {
            let counts = sample_counts(self.trace(), request.interval, request.filter.process.as_deref());
            return Ok(counts.iter().all(|&count| count == 0));
        }
        let counted = ReportRequest { by: Vec::new(), top: Some(0), ..(*request).clone() };
        Ok(named_report(index, &counted, names, cancel)?.count == 0)
    }

    pub(super) fn trace(&self) -> &'a Trace {
        self.index.trace()
    }

    pub(super) fn interval(&self) -> Interval {
        self.request.interval
    }

    /// The only layer that is exported, for formats that cannot tell layers apart; several layers are an error.
    /// `None` if nothing is exported, and for samples.
    pub(super) fn only_layer(&self, value: Value) -> Result<Option<Layer>, ExportError> {
        if value == Value::Samples {
            return Ok(None);
        }
        let trace = self.trace();
        let sites = (0..).map(SiteId).zip(&trace.sites).filter(|(id, _)| self.mask.classes(*id) != 0);
        let mut has = [false; Layer::ALL.len()];
        sites.for_each(|(_, site)| has[trace.layer_of(site) as usize] = true);
        let layers: Vec<Layer> = Layer::ALL.into_iter().filter(|&layer| has[layer as usize]).collect();
        match layers.as_slice() {
            [] => Ok(None),
            [layer] => Ok(Some(*layer)),
            _ => Err(ExportError::SeveralLayers(layers)),
        }
    }
}
