//! The result of a detector, before it is ranked and described.

use super::habits::Habit;
use super::kind::FindingKind;
use super::source::Source;
use crate::model::{HeapId, NodeId, ProcessId, SiteId};
use crate::units::{Interval, Layer};

/// A finding in numbers.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) kind: FindingKind,
    /// Of a habit: which.
    pub(super) habit: Option<Habit>,
    pub(super) process: ProcessId,
    pub(super) layer: Layer,
    pub(super) heap: HeapId,
    /// Whether the finding is about the whole layer; `heap` is then only the heap with the largest part.
    pub(super) is_of_layer: bool,
    pub(super) node: NodeId,
    pub(super) sites: Vec<SiteId>,
    pub(super) interval: Interval,
    pub(super) bytes: u64,
    pub(super) count: u64,
    /// For a peak: the bytes that the place held. For fragmentation: the live bytes on nearly empty pages. For equal
    /// blocks: the size of each. For blocks freed by other threads: all blocks of the function.
    pub(super) part: Option<u64>,
    /// For a step: whether it goes down.
    pub(super) is_fall: bool,
    pub(super) rate: Option<f64>,
    pub(super) period: Option<f64>,
    /// Number of spikes. For fragmentation: pages that the place alone keeps in use.
    pub(super) repeats: Option<u64>,
    /// For unexplained commit: its owners with their bytes, the largest first.
    pub(super) owners: Vec<(String, u64)>,
    /// For unexplained commit: all committed bytes that are known, and the commit charge that the system sampled last.
    pub(super) charge: Option<(u64, u64)>,
    /// Peak of the layer in the process.
    pub(super) level: u64,
}

impl Claim {
    /// Creates a claim about a place, without numbers.
    pub(super) fn at(kind: FindingKind, source: &Source, place: usize) -> Self {
        Self {
            kind,
            habit: None,
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
            charge: None,
            level: source.layer_peak,
        }
    }

    /// Returns its bytes as a share of the layer's peak in the process.
    pub(super) fn share(&self) -> f64 {
        if self.level == 0 { 0.0 } else { (self.bytes as f64 / self.level as f64).min(1.0) }
    }

    /// Rank of the kind: lasting memory before temporary memory, then mere size, and last
    /// habits, which are no event.
    fn class(&self) -> u8 {
        match self.kind {
            FindingKind::Growth | FindingKind::Step | FindingKind::AtExit | FindingKind::UnexplainedCommit => 0,
            FindingKind::Spikes | FindingKind::Churn | FindingKind::Fragmentation => 1,
            FindingKind::Peak => 2,
            FindingKind::Habit => 3,
        }
    }
}

/// Sorts claims, best first: by class, then by share of the layer's peak in its process, then by bytes.
pub(super) fn rank(mut claims: Vec<Claim>) -> Vec<Claim> {
    claims.sort_by(|a, b| {
        let ids = |claim: &Claim| (claim.kind, claim.habit, claim.process, claim.heap, claim.node);
        let by_share = b.share().total_cmp(&a.share()).then(b.bytes.cmp(&a.bytes));
        a.class().cmp(&b.class()).then(by_share).then_with(|| ids(a).cmp(&ids(b)))
    });
    claims
}
