//! What a detector says, before it is ranked and put into words.

use super::FindingKind;
use super::source::Source;
use crate::model::{HeapId, NodeId, ProcessId, SiteId};
use crate::units::{Interval, Layer};

/// A finding in numbers.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) kind: FindingKind,
    pub(super) process: ProcessId,
    pub(super) layer: Layer,
    pub(super) heap: HeapId,
    /// Whether it is about the whole layer, of which the heap is only where most of it is.
    pub(super) is_of_layer: bool,
    pub(super) node: NodeId,
    pub(super) sites: Vec<SiteId>,
    pub(super) interval: Interval,
    pub(super) bytes: u64,
    pub(super) count: u64,
    /// Of a peak: what the place held.
    pub(super) part: Option<u64>,
    /// Of a step: that it goes down.
    pub(super) is_fall: bool,
    pub(super) rate: Option<f64>,
    pub(super) period: Option<f64>,
    pub(super) repeats: Option<u64>,
    /// Of unexplained commit: its owners and what each has, the largest first.
    pub(super) owners: Vec<(String, u64)>,
    /// The largest size of the layer in the process.
    pub(super) level: u64,
}

impl Claim {
    /// About a place, without numbers.
    pub(super) fn at(kind: FindingKind, source: &Source, place: usize) -> Self {
        Self {
            kind,
            process: source.process,
            layer: source.layer,
            heap: source.heap,
            is_of_layer: false,
            node: source.places.list[place].node,
            sites: source.places.under(place).to_vec(),
            interval: source.life,
            bytes: 0,
            count: 0,
            part: None,
            is_fall: false,
            rate: None,
            period: None,
            repeats: None,
            owners: Vec::new(),
            level: source.layer_peak,
        }
    }

    /// Share of the largest size of the layer in the process.
    pub(super) fn share(&self) -> f64 {
        if self.level == 0 { 0.0 } else { (self.bytes as f64 / self.level as f64).min(1.0) }
    }

    /// What lasts comes before what comes and goes; what is merely large comes last.
    fn class(&self) -> u8 {
        match self.kind {
            FindingKind::Growth | FindingKind::Step | FindingKind::AtExit | FindingKind::UnexplainedCommit => 0,
            FindingKind::Spikes | FindingKind::Churn => 1,
            FindingKind::Peak => 2,
        }
    }
}

/// The best first: by class, then by share of the layer's level in its process, then by bytes.
pub(super) fn rank(mut claims: Vec<Claim>) -> Vec<Claim> {
    claims.sort_by(|a, b| {
        let ids = |claim: &Claim| (claim.kind, claim.process, claim.heap, claim.node);
        let by_share = b.share().total_cmp(&a.share()).then(b.bytes.cmp(&a.bytes));
        a.class().cmp(&b.class()).then(by_share).then_with(|| ids(a).cmp(&ids(b)))
    });
    claims
}
