//! Results that one query keeps for the next: the index, totals of intervals, types.

use std::sync::{Arc, Weak};

use super::ahead::{Ahead, MOST_BYTES, PartKey, Sent};
use super::answer::AnswerTo;
use super::trace_index::TraceIndex;
use super::{Part, Query, drop_aside};
use crate::app::state::alignment::Alignment;
use crate::app::state::answers::{LayerOf, Overview};
use crate::app::state::filters::{Filters, Scope};
use crate::app::state::graph::{Arrangement, Split};
use crate::app::state::lanes::Lane;
use crate::app::state::overlays::{FramesOf, OverlayRequest};
use crate::model::{HeapId, Trace};
use crate::query::{
    By, Cancel, Cancelled, CommonGroups, Fold, Forest, FrameLine, Functions, Index, Mask, RangeOwners, RowSet, SiteNames, Totals,
    Trimmed, Types,
};
use crate::symbols::Names;
use crate::units::Interval;

/// Results that the next query may reuse.
#[derive(Default)]
pub struct QueryCache {
    pub(super) index: TraceIndex,
    /// Totals of intervals over the rows that an index chooses; they keep those rows alive.
    pub(super) totals: Kept<(Interval, Option<*const RowSet>), Arc<Totals>, 6>,
    /// Small lines of all rows.
    pub(super) overview: Option<Arc<Overview>>,
    /// The inputs of the parts that the window has, and the parts that were made before anybody asked for them.
    pub(super) sent: Sent,
    pub(super) ahead: Ahead,
    /// The names of the latest query, and how often they have changed.
    names: (Option<Arc<Names>>, u64),
    pub(super) named: NamedResults,
    /// The rows that pass the filters.
    pub(super) rows: Kept<Scope, Option<Arc<RowSet>>, 1>,
    /// The index of the trace that is laid over the graph.
    pub(super) other: Option<Arc<Index>>,
    pub(super) range_owners: Kept<(), Arc<RangeOwners>, 1>,
    /// Frames of a swap chain with their sums.
    pub(super) frames: Kept<FramesKey, Arc<Vec<FrameLine>>, 1>,
}

/// Results that follow from the names: they are dropped when the names change.
#[derive(Default)]
pub(super) struct NamedResults {
    pub(super) types: Kept<(), Arc<Types>, 1>,
    pub(super) owners: Kept<(), Arc<SiteNames>, 1>,
    pub(super) tags: Kept<(), Arc<SiteNames>, 1>,
    /// Sites in the order of folding. A document uses one kind of folding, or none.
    pub(super) trimmed: Kept<Fold, Arc<Trimmed>, 1>,
    pub(super) functions: Kept<FunctionsOf, Arc<Functions>, 5>,
    /// Trees over some of these functions.
    pub(super) forests: Kept<(FunctionsOf, ForestKind), Arc<Forest>, 6>,
    /// Groups of a comparison.
    pub(super) groups: Kept<GroupsOf, Arc<CommonGroups>, 1>,
}

/// Whether the window has asked, or is expected to ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Now,
    Ahead,
}

impl Asked {
    /// Whether a query has a window that waits for its answer.
    pub(super) fn by(to: Option<&AnswerTo<'_>>) -> Self {
        if to.is_some() { Self::Now } else { Self::Ahead }
    }
}

/// Most results that are kept beside the latest ones until the window asks for them.
const MOST_AHEAD: usize = 6;

/// The latest results by their inputs, at most `MOST` of them. Those made ahead displace none that the window has asked for.
pub(super) struct Kept<Of, Made, const MOST: usize> {
    latest: Vec<(Of, Made)>,
    ahead: Vec<Foreseen<Of, Made>>,
}

/// A result that nobody has asked for yet.
struct Foreseen<Of, Made> {
    of: Of,
    made: Made,
    /// Whether the present set of requests needs it.
    is_current: bool,
}

impl<Of, Made, const MOST: usize> Default for Kept<Of, Made, MOST> {
    fn default() -> Self {
        Self { latest: Vec::new(), ahead: Vec::new() }
    }
}

impl<Of: PartialEq, Made: Clone, const MOST: usize> Kept<Of, Made, MOST> {
    pub(super) fn get(
        &mut self,
        of: Of,
        asked: Asked,
        make: impl FnOnce() -> Result<Made, Cancelled>,
    ) -> Result<Made, Cancelled> {
        if let Some((_, made)) = self.latest.iter().find(|(known, _)| *known == of) {
            return Ok(made.clone());
        }
        let place = self.ahead.iter().position(|foreseen| foreseen.of == of);
        let made = match place {
            Some(place) => self.ahead.remove(place).made,
            None => make()?,
        };
        match asked {
            Asked::Now => {
                self.latest.insert(0, (of, made.clone()));
                self.latest.truncate(MOST);
            }
            Asked::Ahead => {
                self.ahead.insert(0, Foreseen { of, made: made.clone(), is_current: true });
                self.ahead.truncate(MOST_AHEAD);
            }
        }
        Ok(made)
    }

    /// Whether a result is there.
    fn has(&self, of: &Of) -> bool {
        self.latest.iter().any(|(known, _)| known == of) || self.ahead.iter().any(|foreseen| foreseen.of == *of)
    }

    fn retain(&mut self, keeps: impl Fn(&Of) -> bool) {
        self.latest.retain(|(of, _)| keeps(of));
        self.ahead.retain(|foreseen| keeps(&foreseen.of));
    }

    /// Bytes of the results that nobody has asked for yet.
    fn bytes_ahead(&self, of: impl Fn(&Made) -> usize) -> usize {
        self.ahead.iter().map(|foreseen| of(&foreseen.made)).sum()
    }

    /// Begins another set of requests ahead.
    fn begin(&mut self) {
        self.ahead.iter_mut().for_each(|foreseen| foreseen.is_current = false);
    }

    /// Drops results that were foreseen for an earlier state.
    fn drop_stale(&mut self) {
        self.ahead.retain(|foreseen| foreseen.is_current);
    }
}

/// Functions of one kind of event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionsOf {
    Allocations(Fold),
    Frees(Fold),
    /// CPU samples, without folding.
    Samples,
}

/// Kinds of trees that views show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForestKind {
    /// Outermost callers at the top.
    #[default]
    TopDown,
    /// Innermost functions at the top.
    Inverted,
    /// One level: the function that allocates.
    ByFunction,
    /// One level: the module of that function.
    ByModule,
}

/// The inputs of the groups of a comparison.
pub(super) struct GroupsOf {
    /// The other trace and its names, which are freed when the user closes them.
    pub(super) theirs: Option<(Weak<Trace>, Weak<Names>)>,
    /// The side of the open trace.
    pub(super) ours: usize,
    pub(super) mask: Mask,
    pub(super) by: &'static [By],
    pub(super) fold: Fold,
}

impl GroupsOf {
    /// Whether the other trace has been closed.
    fn is_closed(&self) -> bool {
        self.theirs.as_ref().is_some_and(|(trace, _)| trace.strong_count() == 0)
    }
}

impl PartialEq for GroupsOf {
    fn eq(&self, other: &Self) -> bool {
        let theirs = |of: &Self| of.theirs.as_ref().map(|(trace, names)| (Weak::as_ptr(trace), Weak::as_ptr(names)));
        let rest = |of: &Self| (of.by, of.fold, of.ours);
        theirs(self) == theirs(other) && rest(self) == rest(other) && self.mask == other.mask
    }
}

/// The inputs of the graph's lines.
#[derive(PartialEq)]
pub(super) struct GraphKey {
    pub(super) view: Interval,
    pub(super) heaps: Vec<HeapId>,
    pub(super) lanes: Vec<Lane>,
    pub(super) bins: usize,
    pub(super) rows: Rows,
    pub(super) split: Split,
    pub(super) arrangement: Arrangement,
    /// The number of the names' state, if the lines depend on names.
    pub(super) names: Option<u64>,
}

/// The rows that count: the input of every filtered result.
#[derive(Clone, PartialEq)]
pub(super) struct Rows {
    scope: Scope,
    /// The number of the names' state, if the filters need names.
    names: Option<u64>,
}

/// The inputs of the picture of marks, frames and CPU use; it is made again when they change.
#[derive(PartialEq)]
pub(super) struct PictureKey {
    pub(super) view: Interval,
    pub(super) bins: usize,
    pub(super) asked: OverlayRequest,
    pub(super) rows: Rows,
    /// The number of the names' state, if the picture depends on names.
    pub(super) names: Option<u64>,
}

/// The inputs of the lines of committed bytes.
#[derive(PartialEq)]
pub(super) struct CommittedKey {
    pub(super) view: Interval,
    /// Empty if no lines are drawn.
    pub(super) lanes: Vec<Lane>,
    pub(super) filters: Filters,
}

/// The inputs of the lines of a trace that is laid over the graph.
pub(super) struct LaidKey {
    pub(super) of: Weak<Trace>,
    pub(super) alignment: Alignment,
    pub(super) view: Interval,
    pub(super) bins: usize,
    pub(super) lanes: Vec<LayerOf>,
}

impl PartialEq for LaidKey {
    fn eq(&self, other: &Self) -> bool {
        let rest = |of: &Self| (of.view, of.bins);
        self.of.ptr_eq(&other.of) && self.alignment == other.alignment && rest(self) == rest(other) && self.lanes == other.lanes
    }
}

/// The inputs of the sums of frames.
#[derive(PartialEq)]
pub(super) struct FramesKey {
    pub(super) of: FramesOf,
    pub(super) during: Interval,
    pub(super) rows: Rows,
}

impl QueryCache {
    /// The index of `trace`, without the results about another one.
    pub(super) fn index(&mut self, trace: &Arc<Trace>, growing: bool, cancel: &Cancel) -> Result<Arc<Index>, Cancelled> {
        self.named.groups.retain(|of| !of.is_closed());
        if !self.index.is_of(trace) {
            *self = Self { index: self.index.left_for(trace), ..Self::default() };
        }
        self.index.get(trace, growing, cancel)
    }

    /// Drops the results that follow from other names. To be called first.
    pub(super) fn follow(&mut self, names: &Arc<Names>) {
        let (known, turn) = &mut self.names;
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, names)) {
            *known = Some(Arc::clone(names));
            *turn += 1;
            self.named = NamedResults::default();
            drop_aside(std::mem::take(&mut self.ahead));
        }
    }

    /// Whether a request ahead may use these results, which are about its trace and names, and displace none of them.
    pub(super) fn is_about(&self, query: &Query) -> bool {
        let is_named = self.names.0.as_ref().is_some_and(|names| Arc::ptr_eq(names, &query.names));
        self.index.is_of(&query.trace) && self.index.is_final() && is_named && !query.growing
    }

    /// Begins another set of requests ahead: the results of earlier ones make room for theirs.
    pub(super) fn begin_ahead(&mut self) {
        self.ahead.begin();
        self.totals.begin();
        self.rows.begin();
    }

    /// Drops what nobody has asked for yet.
    pub(super) fn forget_ahead(&mut self) {
        self.begin_ahead();
        self.drop_stale();
    }

    fn drop_stale(&mut self) {
        self.totals.drop_stale();
        self.rows.drop_stale();
        self.ahead.drop_stale();
    }

    /// Whether totals are there, or there is room for them while nobody has asked for them.
    pub(super) fn admits_totals(&mut self, of: &(Interval, Option<*const RowSet>), trace: &Trace) -> bool {
        self.totals.has(of) || self.has_room_ahead(Totals::bytes_of(trace.sites.len()))
    }

    /// Whether chosen rows are there, or there is room for them while nobody has asked for them.
    pub(super) fn admits_rows(&mut self, scope: &Scope, trace: &Trace) -> bool {
        self.rows.has(scope) || self.has_room_ahead(trace.rows.len() / 8)
    }

    /// Keeps parts until the window asks for them; returns whether there was room.
    pub(super) fn keep_ahead(&mut self, key: PartKey, parts: Vec<Part>) -> bool {
        let beside = self.bytes_behind();
        self.ahead.keep(key, parts, beside)
    }

    /// Bytes of the totals and rows from which parts are made, and for which nobody has asked yet.
    fn bytes_behind(&self) -> usize {
        let rows = self.rows.bytes_ahead(|rows| rows.as_ref().map_or(0, |rows| rows.heap_bytes()));
        self.totals.bytes_ahead(|totals| totals.bytes()) + rows
    }

    fn has_room_ahead(&mut self, bytes: usize) -> bool {
        let has_room = |cache: &Self| cache.ahead.bytes() + cache.bytes_behind() + bytes <= MOST_BYTES;
        if !has_room(self) {
            self.drop_stale();
        }
        has_room(self)
    }

    /// A number that changes whenever the names change.
    pub(super) fn names_turn(&self) -> u64 {
        self.names.1
    }

    /// The rows that a query is about.
    pub(super) fn rows_of(&self, query: &Query) -> Rows {
        let names = query.filters.need_names().then(|| self.names_turn());
        Rows { scope: query.filters.scope(query.interval), names }
    }
}
