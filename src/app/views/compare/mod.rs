//! Compares A and B by groups: two intervals of the open trace, or an interval of it with the whole of another
//! trace. Filters are about the open trace, so they do not apply if there are two.
//!
//! Cost: that of two reports, after the graph.

mod cells;
mod command;
mod panel;
mod sides;
mod table;

use std::sync::Arc;

use super::flame::{Icicle, Measure, Unit, Way};
use super::layers::LayerChoice;
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, QueryContext, drop_aside};
use crate::app::services::comparison::{Opened, Ready};
use crate::app::state::ids::ViewId;
use crate::app::widgets::columns::Wholes;
use crate::query::{By, Cancelled, Compared, DiffSide, FlameWeights, Group, Mask, layer_label};
use crate::symbols::Names;
use crate::units::{Interval, Layer};
use cells::Order;
use sides::Sides;
use table::Listed;

/// Most groups that are listed.
const MOST: usize = 10_000;

/// Most groups that are listed by stack; each stack can have thousands of frames.
const MOST_STACKS: usize = 1_000;

/// The keys by which rows are grouped; groups are always split by layer as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grouping {
    #[default]
    Heap,
    Stack,
    Type,
    Function,
    Module,
    Tag,
    Thread,
}

impl Grouping {
    const ALL: [Self; 7] = [Self::Heap, Self::Stack, Self::Type, Self::Function, Self::Module, Self::Tag, Self::Thread];

    fn label(self) -> &'static str {
        match self {
            Self::Heap => "By process and heap",
            Self::Stack => "By stack",
            Self::Type => "By type",
            Self::Function => "By function",
            Self::Module => "By module",
            Self::Tag => "By tag",
            Self::Thread => "By thread",
        }
    }

    /// The name in files, which never changes.
    fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::Type => "type",
            Self::Function => "function",
            Self::Module => "module",
            Self::Tag => "tag",
            Self::Thread => "thread",
        }
    }

    /// The grouping with this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grouping| grouping.name() == name)
    }

    fn by(self) -> &'static [By] {
        match self {
            Self::Heap => &[By::Process, By::Heap],
            Self::Stack => &[By::Stack, By::Function],
            Self::Type => &[By::Type],
            Self::Function => &[By::Function],
            Self::Module => &[By::Module],
            Self::Tag => &[By::Tag],
            Self::Thread => &[By::Process, By::Thread],
        }
    }

    fn most(self) -> usize {
        if self == Self::Stack { MOST_STACKS } else { MOST }
    }
}

/// The other trace, which is compared as a whole.
struct Other {
    ready: Arc<Ready>,
    names: Arc<Names>,
}

impl PartialEq for Other {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ready, &other.ready) && Arc::ptr_eq(&self.names, &other.names)
    }
}

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    /// Intervals of the open trace; the first one is not used if there is another trace.
    sides: [Interval; 2],
    other: Option<Other>,
    /// The side of the open trace: 0 is A, 1 is B.
    ours: usize,
    grouping: Grouping,
    search: String,
    flame: Option<FlameRequest>,
}

/// The view's request for a flame graph of the difference.
#[derive(PartialEq)]
pub struct FlameRequest {
    layer: Layer,
    focus: Way,
}

/// The differences between A and B.
pub struct Difference {
    is_across: bool,
    /// The side of the open trace: 0 is A, 1 is B.
    ours: usize,
    sides: [Interval; 2],
    listed: Arc<Listed>,
    /// Whether there are more groups than are listed.
    is_cut: bool,
    /// Totals of the sort column per layer, for the share that each row has.
    wholes: Wholes,
    /// The flame graph that is shown in place of the groups.
    flame: Option<Icicle>,
}

/// State of the view.
#[derive(Default)]
pub struct Compare {
    sides: Sides,
    /// Whether the user swapped the two traces.
    is_swapped: bool,
    grouping: Grouping,
    order: Order,
    search: String,
    difference: Option<Difference>,
    layer: LayerChoice,
    /// The layer that changed most, if known.
    changed_most: Option<Layer>,
    /// The path to the focused node of the flame graph, if it is shown in place of the table.
    flame: Option<Way>,
}

/// A copy without the differences, on which no request depends.
impl Clone for Compare {
    fn clone(&self) -> Self {
        let Self { sides, is_swapped, grouping, order, layer, changed_most, .. } = *self;
        let (search, flame) = (self.search.clone(), self.flame.clone());
        Self { sides, is_swapped, grouping, order, search, difference: None, layer, changed_most, flame }
    }
}

impl View for Compare {
    const ID: ViewId = ViewId::Compare;
    type Request = Request;
    type Answer = Difference;
    /// An answer that was made ahead would keep another trace alive after the user has closed it.
    const IS_MADE_AHEAD: bool = false;

    fn request(&self, document: &Document) -> Option<Request> {
        let opened = document.comparison.opened();
        let sides = match opened {
            Some(_) => [document.interval(); 2],
            None => self.sides.of(document)?,
        };
        let other = opened.map(|opened| Other { ready: Arc::clone(&opened.ready), names: Arc::clone(opened.names()) });
        let ours = opened.map_or(1, |opened| self.ours(opened, document));
        let layer = self.flame_layer(document);
        let flame = self.flame.as_ref().map(|focus| FlameRequest { layer, focus: focus.clone() });
        Some(Request { sides, other, ours, grouping: self.grouping, search: self.search.trim().to_lowercase(), flame })
    }

    fn answer(_: &Request, _: &mut QueryContext<'_>, _: &mut dyn FnMut(Difference)) -> Result<(), Cancelled> {
        Ok(())
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Difference)) -> Result<(), Cancelled> {
        if let Some(flame) = &request.flame {
            tell(request.as_flame(flame, query)?);
            return Ok(());
        }
        let (by, most) = (request.grouping.by(), request.grouping.most());
        let functions = By::need_functions(by).then(|| query.functions()).transpose()?;
        let [a, b] = request.sides;
        let mut found = |groups: Vec<Group<Compared>>, has_peaks| tell(request.difference(groups, has_peaks));
        let (names, functions) = (query.names(), functions.as_ref());
        let cancel = query.cancel;
        let mut compare = |sides: [DiffSide<'_>; 2], query: &mut QueryContext<'_>| {
            let theirs = request.other.as_ref().map(|other| (&other.ready.trace, &other.names));
            let groups = query.common_groups(&sides, (theirs, request.ours), by)?;
            groups.compare(sides, Some(most + 1), |early| found(early.cloned().collect(), false), cancel)
        };
        let groups = match &request.other {
            None => {
                let (index, mask) = (Arc::clone(&query.index), Arc::clone(&query.mask));
                let sums = [query.totals_of(a)?, query.totals_of(b)?];
                let side = |i: usize| {
                    let (interval, totals) = (request.sides[i], Some(&sums[i]));
                    DiffSide { index: &index, interval, mask: &mask, names, functions, totals }
                };
                compare([side(0), side(1)], query)?
            }
            Some(Other { ready, names: their_names }) => {
                let (index, sums) = ready.whole(cancel)?;
                let (ours, our_sums) = (Arc::clone(query.all_rows()), query.all_totals_of(b)?);
                let all = [&ready.trace, query.trace()].map(|trace| Mask::all(trace));
                let interval = ready.trace.span;
                let theirs =
                    DiffSide { index: &index, interval, mask: &all[0], names: their_names, functions: None, totals: Some(&sums) };
                let ours = DiffSide { index: &ours, interval: b, mask: &all[1], names, functions, totals: Some(&our_sums) };
                compare(if request.ours == 0 { [ours, theirs] } else { [theirs, ours] }, query)?
            }
        };
        found(groups, true);
        Ok(())
    }

    fn bytes(difference: &Difference) -> usize {
        difference.listed.groups.len() * size_of::<Group<Compared>>() + difference.flame.as_ref().map_or(0, Icicle::bytes)
    }

    fn take(&mut self, mut difference: Difference) {
        self.order.sort(&mut difference);
        if difference.flame.is_none() {
            self.changed_most = changed_most(&difference.listed.groups);
        }
        drop_aside(self.difference.replace(difference));
    }
}

impl Compare {
    /// The side of the open trace. The trace that was recorded first is A; if both were recorded at the same
    /// time, the one whose name comes first. The user can swap them.
    fn ours(&self, opened: &Opened, document: &Document) -> usize {
        let theirs = (opened.ready.trace.clock.start_time, &opened.name);
        let name = document.name();
        let ours = (document.trace.clock.start_time, &name);
        usize::from((theirs <= ours) != self.is_swapped)
    }

    /// The layer of the flame graph: the chosen one, else the one that changed most.
    fn flame_layer(&self, document: &Document) -> Layer {
        self.layer.chosen(document).or(self.changed_most).unwrap_or_else(|| self.layer.of(document))
    }
}

/// The layer whose outstanding size changed most between the sides.
fn changed_most(groups: &[Group<Compared>]) -> Option<Layer> {
    let change = |layer: Layer| {
        let of_layer = groups.iter().filter(|group| group.layer == layer.name());
        of_layer.map(|group| i128::from(group.numbers.delta.outstanding_to)).sum::<i128>().unsigned_abs()
    };
    Layer::ALL.into_iter().max_by_key(|&layer| change(layer)).filter(|&layer| change(layer) > 0)
}

impl Request {
    /// Makes an answer of the groups, of which there may be one more than are listed.
    fn difference(&self, mut groups: Vec<Group<Compared>>, has_peaks: bool) -> Difference {
        let most = self.grouping.most();
        let is_cut = groups.len() > most;
        groups.truncate(most);
        if !self.search.is_empty() {
            groups.retain(|group| table::matches(group, &self.search));
        }
        Difference {
            is_across: self.other.is_some(),
            ours: self.ours,
            sides: self.sides,
            listed: Arc::new(Listed {
                grouping: self.grouping,
                order: (0..groups.len()).collect(),
                groups: groups.into(),
                has_peaks,
            }),
            wholes: Wholes::default(),
            is_cut,
            flame: None,
        }
    }

    /// The flame graph of one layer: outstanding bytes at the end of B minus those at the end of A.
    fn as_flame(&self, flame: &FlameRequest, query: &mut QueryContext<'_>) -> Result<Difference, Cancelled> {
        let [a, b] = self.sides;
        let functions = query.folded_functions()?;
        let (functions, forest) = match &self.other {
            None => (functions, query.forest(ForestKind::TopDown)?),
            Some(Other { ready, names }) => {
                let joined = ready.joined(names, &functions, query.folds(), query.cancel)?;
                (joined.functions, joined.forest)
            }
        };
        let weights = match &self.other {
            None => {
                let sides = [query.totals_of(a)?, query.totals_of(b)?];
                FlameWeights::difference(&forest, query.trace(), [&sides[0], &sides[1]], &query.mask, flame.layer)
            }
            Some(Other { ready, .. }) => {
                let (_, theirs) = ready.whole(query.cancel)?;
                let sides = [(&*ready.trace, &*theirs), (&**query.trace(), &*query.all_totals_of(b)?)];
                FlameWeights::across(&forest, sides, 1 - self.ours, flame.layer)
            }
        };
        query.cancel.check()?;
        let measure = Measure { label: "B minus A, outstanding at their ends", unit: Unit::Change { less: "less in B" } };
        let asked = (layer_label(flame.layer), &*flame.focus, &*self.search);
        let icicle = Icicle::of(&weights, (&forest, &functions), measure, asked);
        Ok(Difference { flame: Some(icicle), ..self.difference(Vec::new(), false) })
    }
}
