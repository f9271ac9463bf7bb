//! The inputs of a tree.

use super::found::Found;
use super::request::TreeRequest;
use super::trim::Trimmed;
use crate::model::Trace;
use crate::query::{Cancel, Mask, Totals};

/// The inputs that all steps of building a tree use.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) trace: &'a Trace,
    pub(super) totals: &'a Totals,
    pub(super) request: &'a TreeRequest,
    /// The folded order of sites, if frames are folded.
    pub(super) trimmed: Option<&'a Trimmed>,
    /// The sites and classes left by filter and search.
    pub(super) mask: &'a Mask,
    /// The matches of the search; `None` without a search.
    pub(super) found: Option<&'a Found>,
    pub(super) cancel: &'a Cancel,
}
