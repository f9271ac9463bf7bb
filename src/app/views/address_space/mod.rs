//! The address space of a process at the moment of the graph's cursor, else at the end of the interval: regions, cells of equal
//! size, and single blocks. The map is zoomed from the whole process down to a block; a click on a cell filters all views.
//!
//! Cost: what is alive is found once for each moment, process and filter (see [`AddressSpace`]); zooming and other colours cost a
//! step for each block in sight.

mod colors;
mod draw;
mod hover;
mod lines;
mod panel;
mod zoom;

use std::sync::Arc;

use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::filters::Scope;
use crate::app::state::ids::ViewId;
use crate::model::{ProcessId, RowId, SiteId, Trace};
use crate::query::{AddressMap, AddressSpace, Cancelled, Functions, MapRequest, address_map};
use crate::symbols::Names;
use crate::units::Ticks;
use colors::{ColorBy, NO_FUNCTION};
use lines::Lines;
use zoom::Zoom;

/// Most cells of a map: a screen of them or two.
const MOST: usize = 8192;

/// The view's request.
pub struct Request {
    process: ProcessId,
    /// The moment of the cursor, if the map follows it and the cursor is on the graph.
    at: Option<Ticks>,
    range: (u64, u64),
    color_by: ColorBy,
    /// The live memory of the previous answer, which a new range or colour can use again.
    kept: Option<Arc<Kept>>,
}

/// The live memory of a process at a moment, and the inputs that it follows from.
struct Kept {
    trace: Arc<Trace>,
    /// The names, if they decide which rows pass the filters.
    names: Option<Arc<Names>>,
    scope: Scope,
    process: ProcessId,
    at: Ticks,
    space: AddressSpace,
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        let kept = |of: &Self| of.kept.as_ref().map(Arc::as_ptr);
        let rest = |of: &Self| (of.process, of.at, of.range, of.color_by);
        rest(self) == rest(other) && kept(self) == kept(other)
    }
}

/// Sums of the whole address space.
#[derive(Clone, Copy, Default)]
struct Whole {
    live: u64,
    blocks: u64,
    committed: u64,
    reserved: u64,
}

/// A part of the map.
pub struct Mapped {
    kept: Arc<Kept>,
    names: Arc<Names>,
    functions: Arc<Functions>,
    color_by: ColorBy,
    range: (u64, u64),
    map: AddressMap,
    whole: Whole,
    /// Groups of cells, and the bytes in cells of each, the largest first.
    groups: Vec<(u32, u64)>,
}

/// State of the view.
#[derive(Clone, Default)]
pub struct AddressSpaceMap {
    /// The process that the user chose.
    process: Option<ProcessId>,
    /// Whether the map keeps to the end of the interval, wherever the cursor is.
    keeps_to_end: bool,
    color_by: ColorBy,
    zoom: Zoom,
    selected: Option<RowId>,
    mapped: Option<Arc<Mapped>>,
    /// The lines of the answer, for one number of cells in a line.
    lines: Option<Lines>,
    /// The place that the menu is about.
    menu: Option<hover::Spot>,
}

impl View for AddressSpaceMap {
    const ID: ViewId = ViewId::AddressSpace;
    type Request = Request;
    type Answer = Mapped;
    /// The live memory of a process can take more than all that is made ahead.
    const IS_MADE_AHEAD: bool = false;

    fn request(&self, document: &Document) -> Option<Request> {
        let kept = self.mapped.as_ref().map(|mapped| Arc::clone(&mapped.kept));
        let at = document.moment.filter(|_| !self.keeps_to_end);
        Some(Request { process: self.process_in(document)?, at, range: self.zoom.range(), color_by: self.color_by, kept })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Mapped)) -> Result<(), Cancelled> {
        let of = (request.process, request.at.unwrap_or(query.interval().to));
        let kept = match request.kept.as_ref().filter(|kept| kept.is_of(of, query)) {
            Some(kept) => Arc::clone(kept),
            None => Arc::new(Kept::new(of, query)?),
        };
        let (trace, functions) = (Arc::clone(query.trace()), query.functions()?);
        let responsible = |site| functions.function(functions.responsible(site)).map_or(NO_FUNCTION, |function| function.0);
        let group_of = |site: SiteId| match request.color_by {
            ColorBy::Heap | ColorBy::Age => trace.site(site).heap.0,
            ColorBy::Responsible => responsible(site),
        };
        let asked = MapRequest { range: request.range, most: MOST, cell: None, group_of: &group_of };
        let map = address_map(&kept.space, &asked, query.cancel)?;
        let (groups, whole, names) = (colors::groups(&map), Whole::of(&kept.space), Arc::clone(query.names()));
        tell(Mapped { kept, names, functions, color_by: request.color_by, range: request.range, map, whole, groups });
        Ok(())
    }

    fn bytes(mapped: &Mapped) -> usize {
        size_of_val(&mapped.map.cells[..]) + size_of_val(&mapped.map.blocks[..])
    }

    fn take(&mut self, mapped: Mapped) {
        if self.mapped.as_ref().is_some_and(|before| !mapped.kept.trace.keeps_rows(&before.kept.trace)) {
            self.selected = None; // its number may have changed
        }
        self.lines = None;
        drop_aside(self.mapped.replace(Arc::new(mapped)));
    }
}

impl AddressSpaceMap {
    /// The process of the filter, else the chosen one, else the largest.
    fn process_in(&self, document: &Document) -> Option<ProcessId> {
        let exists = |process: &ProcessId| (process.0 as usize) < document.trace.processes.len();
        document.process_of_filter().or(self.process.filter(exists)).or_else(|| document.process_in_scope())
    }
}

impl Kept {
    fn new((process, at): (ProcessId, Ticks), query: &QueryContext<'_>) -> Result<Self, Cancelled> {
        let space = AddressSpace::at(&query.index, &query.mask, (process, at), query.cancel)?;
        let (trace, names) = (Arc::clone(query.trace()), Self::deciding(query).cloned());
        Ok(Self { trace, names, scope: query.filters().scope(query.interval()), process, at, space })
    }

    /// The names of a query, if they decide which rows pass its filters.
    fn deciding<'a>(query: &QueryContext<'a>) -> Option<&'a Arc<Names>> {
        (query.filters().need_names() || query.filters().need_tags()).then(|| query.names())
    }

    /// Whether a query about a process and a moment would find the same.
    fn is_of(&self, of: (ProcessId, Ticks), query: &QueryContext<'_>) -> bool {
        Arc::ptr_eq(&self.trace, query.trace())
            && self.names.as_ref().map(Arc::as_ptr) == Self::deciding(query).map(Arc::as_ptr)
            && (self.process, self.at) == of
            && self.scope == query.filters().scope(query.interval())
    }
}

impl Whole {
    fn of(space: &AddressSpace) -> Self {
        let mut whole = Self::default();
        for region in space.regions() {
            whole.live = whole.live.saturating_add(region.sums.live);
            whole.blocks = whole.blocks.saturating_add(region.sums.blocks);
            whole.committed = whole.committed.saturating_add(region.sums.committed);
            if region.is_reserved {
                whole.reserved = whole.reserved.saturating_add(region.bytes());
            }
        }
        whole
    }
}
