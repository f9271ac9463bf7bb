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
    /// What all processes reach in the layer.
    pub(super) whole: u64,
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
            whole: source.whole_peak,
        }
    }

    /// Share of the layer's level.
    pub(super) fn share(&self) -> f64 {
        if self.whole == 0 { 0.0 } else { (self.bytes as f64 / self.whole as f64).min(1.0) }
    }
}

/// The best first: by share, while kinds take turns.
pub(super) fn rank(mut claims: Vec<Claim>) -> Vec<Claim> {
    // Larger ones first where shares are as large as can be, then in the order of ids.
    claims.sort_by(|a, b| {
        let ids = |claim: &Claim| (claim.kind, claim.process, claim.heap, claim.node);
        b.share().total_cmp(&a.share()).then(b.bytes.cmp(&a.bytes)).then_with(|| ids(a).cmp(&ids(b)))
    });
    let mut turns = [0usize; FindingKind::ALL.len()];
    let mut turn_of = |claim: &Claim| {
        turns[claim.kind as usize] += 1;
        (turns[claim.kind as usize], claim.kind)
    };
    let mut ranked: Vec<_> = claims.into_iter().map(|claim| (turn_of(&claim), claim)).collect();
    ranked.sort_by_key(|(turn, _)| *turn);
    ranked.into_iter().map(|(_, claim)| claim).collect()
}
