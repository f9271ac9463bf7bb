//! Findings: what grew, spiked or leaked in an interval, best first, each with a place in the code and a number. The
//! kinds are growth, steps, spikes, peaks, blocks at exit, churn, commit that nothing accounts for, fragmentation, and habits.
//! Uncertain results are not reported. `docs/findings.md` describes each kind and how often it is right.
//!
//! Layers are never mixed: each finding is about one heap, tracker or commit of one process, and shares are of its
//! layer.
//!
//! Cost: the totals of the interval, graphs of the heaps, and some six parallel passes over the rows, each cancelled
//! within a chunk; tables of at most some tens of MB. Names only label places and identify the allocator's frames.

mod at_exit;
mod churn;
mod claim;
mod fragmentation;
mod function_groups;
mod growth;
mod habits;
mod kind;
mod levels;
mod peak;
pub(super) mod place;
mod question;
mod shape;
mod source;
mod spikes;
mod step;
mod unexplained;
mod words;

use super::{Cancel, Cancelled, FrameAddress, Index, Mask, SourceLine, totals};
use crate::model::{HeapId, NodeId, ProcessId, SiteId};
use crate::names::Names;
use crate::tables::KeyedSet;
use crate::units::{Interval, Layer};
use claim::Claim;
use function_groups::FunctionGroups;
pub use habits::Habit;
pub use kind::FindingKind;
use question::Question;
use source::Sources;

/// A finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Which habit it is, of a habit.
    pub habit: Option<Habit>,
    /// Process that owns the memory.
    pub process: ProcessId,
    /// Layer of the memory.
    pub layer: Layer,
    /// Heap, tracker, or the process's commit; `None` if the finding is about the whole layer.
    pub heap: Option<HeapId>,
    /// Place in the code: the frame below which everything was allocated; the root without a stack.
    pub node: NodeId,
    /// Sites of the memory.
    pub sites: Vec<SiteId>,
    /// Time of the finding.
    pub interval: Interval,
    /// Bytes; for spikes the median height, for a peak the bytes of the layer.
    pub bytes: u64,
    /// Whether a step goes down.
    pub is_fall: bool,
    /// Number of allocations.
    pub count: u64,
    /// Bytes per second, if the finding goes on for some time.
    pub rate_bytes_per_s: Option<f64>,
    /// Mean time between the starts of spikes, in seconds.
    pub period_s: Option<f64>,
    /// Number of spikes.
    pub repeats: Option<u64>,
    /// Frames down to the place, outermost first. Below it are only frames of the allocator and of libraries, or
    /// several paths.
    pub stack: Vec<String>,
    /// Module and address of each frame of `stack`, where known.
    pub addresses: Vec<Option<FrameAddress>>,
    /// The last frame of `stack`: the responsible caller.
    pub function: Option<String>,
    /// Source line of that frame, if known.
    pub source: Option<SourceLine>,
    /// Description: one sentence with a number.
    pub text: String,
    /// Reasons to doubt the finding.
    pub doubts: Vec<String>,
}

impl Finding {
    /// Its kind, or which habit it is.
    pub fn label(&self) -> &'static str {
        self.habit.map_or(self.kind.name(), Habit::name)
    }

    /// The frames of its place as text, innermost first, the first with its source line.
    pub fn frames_with_source(&self) -> impl Iterator<Item = String> {
        let mut source = self.source.as_ref().map(|line| format!("  {line}"));
        self.stack.iter().rev().map(move |frame| format!("{frame}{}", source.take().unwrap_or_default()))
    }
}

/// Largest number of findings returned.
const MOST: usize = 100;

/// Finds what stands out in an interval among the sites in `mask`, best first.
pub fn findings(
    index: &Index,
    interval: Interval,
    mask: &Mask,
    names: &Names,
    cancel: &Cancel,
) -> Result<Vec<Finding>, Cancelled> {
    if index.trace().rows.is_empty() || interval.is_empty() {
        return Ok(Vec::new());
    }
    let totals = totals(index, interval, cancel)?;
    let is_everything = index.chosen().is_none() && (0..index.trace().sites.len() as u32).all(|i| mask.classes(SiteId(i)) != 0);
    let question = Question { index, interval, totals: &totals, mask, is_everything, names, cancel };
    let mut sources = Sources::new(&question)?;
    let tops = peak::tops(&question, &mut sources)?;
    let held = peak::held_at(&question, &tops)?;
    let mut claims = peak::find(&question, &sources, &tops, &held);
    claims.extend(growth::find(&question, &sources)?);
    claims.extend(step::find(&question, &sources)?);
    claims.extend(spikes::find(&question, &sources)?);
    claims.extend(at_exit::find(&question, &sources)?);
    claims.extend(churn::find(&question, &sources));
    claims.extend(unexplained::find(&question, &sources, &tops)?);
    let groups = FunctionGroups::new(&question, &sources)?;
    claims.extend(fragmentation::find(&question, &sources, &groups)?);
    claims.extend(habits::find(&question, &sources, &groups, (&tops, &held))?);
    let mut ranked = claim::rank(claims);
    ranked.truncate(MOST);
    cancel.check()?;
    Ok(ranked.into_iter().map(|claim| told(&question, claim)).collect())
}

/// Selects the most important findings of a list that is best first: the first of each process and kind, with growth,
/// steps and spikes before other kinds; then the rest.
pub fn headlines(list: &[Finding], most: usize) -> Vec<&Finding> {
    let is_change = |finding: &Finding| matches!(finding.kind, FindingKind::Growth | FindingKind::Step | FindingKind::Spikes);
    let mut seen = KeyedSet::default();
    let (firsts, others): (Vec<&Finding>, Vec<&Finding>) =
        list.iter().partition(|finding| seen.insert((finding.process, finding.kind)));
    let (changes, states): (Vec<&Finding>, Vec<&Finding>) = firsts.into_iter().partition(|finding| is_change(finding));
    changes.into_iter().chain(states).chain(others).take(most).collect()
}

/// Describes a claim.
fn told(question: &Question<'_>, claim: Claim) -> Finding {
    let trace = question.index.trace();
    let site = claim.sites.first().map(|&site| trace.site(site));
    let place = site.map(|site| place::named(trace, question.names, claim.node, site));
    let place::Named { stack, addresses, source } = place.unwrap_or_default();
    let function = stack.last().cloned();
    let text = words::sentence(question, &claim, function.as_deref(), source.as_ref());
    let doubts = words::doubts(question, &claim);
    Finding {
        kind: claim.kind,
        habit: claim.habit,
        process: claim.process,
        layer: claim.layer,
        heap: (!claim.is_of_layer).then_some(claim.heap),
        node: claim.node,
        sites: claim.sites,
        interval: claim.interval,
        bytes: claim.bytes,
        is_fall: claim.is_fall,
        count: claim.count,
        rate_bytes_per_s: claim.rate,
        period_s: claim.period,
        repeats: claim.repeats.filter(|_| claim.kind != FindingKind::Fragmentation),
        stack,
        addresses,
        function,
        source,
        text,
        doubts,
    }
}
