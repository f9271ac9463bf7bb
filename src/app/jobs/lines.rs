//! The lines of the graph, and the sites that each one covers.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Query, QueryContext};
use crate::app::state::answers::LayerOf;
use crate::app::state::graph::{Arrangement, LineOf, Split};
use crate::app::state::lanes::{FIRST_PARTS, Lane, Parts};
use crate::model::{Heap, HeapId, SiteId, Trace};
use crate::query::{
    Cancel, Cancelled, Column, FunctionId, Functions, Index, Mask, Series, SeriesOf, Sort, Totals, TypeGroup, Types,
    coarse_series, series,
};
use crate::units::Layer;

/// Number of types and functions whose lines are compared to find the largest peaks, and of lines of types.
const CANDIDATES: usize = 32;
const TYPE_LINES: usize = 8;

/// The data that all lines of a graph share.
pub(super) struct Lines<'a> {
    pub(super) index: &'a Index,
    pub(super) sums: &'a Totals,
    pub(super) mask: &'a Mask,
    pub(super) bins: usize,
    pub(super) cancel: &'a Cancel,
}

/// Lines, each with its subject.
type Drawn<K> = Result<Vec<(K, Series)>, Cancelled>;

/// Lines that are drawn in one pass: no site belongs to two of them.
type Batch = (Vec<LineOf>, SeriesOf);

/// The subjects of some lines, and the line of each heap of the trace, if it has one.
pub(super) type LinesOfHeaps = (Vec<LineOf>, Vec<Option<u32>>);

/// A line for each of some heaps.
pub(super) fn lines_of_heaps(trace: &Trace, heaps: &[HeapId]) -> LinesOfHeaps {
    let mut line_of = vec![None; trace.heaps.len()];
    heaps.iter().enumerate().for_each(|(i, heap)| line_of[heap.0 as usize] = Some(i as u32));
    (heaps.iter().map(|&heap| LineOf::of_heap(trace, heap)).collect(), line_of)
}

/// A line for each of some layers.
pub(super) fn lines_of_layers(trace: &Trace, layers: &[LayerOf]) -> LinesOfHeaps {
    let line = |of: &Heap| layers.iter().position(|&layer| layer == (of.process, of.layer));
    let line_of = trace.heaps.iter().map(|heap| line(heap).map(|i| i as u32)).collect();
    (layers.iter().map(|&(process, layer)| LineOf::Layer(process, layer)).collect(), line_of)
}

/// The groupings of sites that the lines of a query need.
#[derive(Default)]
pub(super) struct Grouped {
    pub(super) types: Option<Arc<Types>>,
    pub(super) functions: Option<Arc<Functions>>,
}

impl Grouped {
    /// Makes the groupings that the query needs.
    pub(super) fn for_query(query: &Query, context: &mut QueryContext<'_>) -> Result<Self, Cancelled> {
        let are_opened = |to: Parts| shows_lanes(query) && query.lanes.iter().any(|lane| lane.opened == Some(to));
        let needs_types = query.split != Split::Sources || are_opened(Parts::Types);
        let types = needs_types.then(|| context.types()).transpose()?;
        let functions = are_opened(Parts::Functions).then(|| context.functions()).transpose()?;
        Ok(Self { types, functions })
    }

    /// Whether the lines change with names.
    pub(super) fn need_names(&self) -> bool {
        self.types.is_some() || self.functions.is_some()
    }
}

/// Whether each layer has a lane of its own.
pub(super) fn shows_lanes(query: &Query) -> bool {
    (query.split, query.arrangement) == (Split::Sources, Arrangement::Lanes)
}

impl Lines<'_> {
    /// The lines that a query requests.
    pub(super) fn of(&self, query: &Query, grouped: &Grouped) -> Drawn<LineOf> {
        match (query.split, &grouped.types) {
            (Split::Types, Some(types)) => return self.types(types),
            (Split::Stack(layer), Some(types)) => return self.stack(types, layer),
            _ => {}
        }
        let mut lines = Vec::new();
        for (names, of) in self.batches(query) {
            lines.extend(names.into_iter().zip(self.draw(&of)?));
        }
        if shows_lanes(query) {
            for lane in &query.lanes {
                lines.extend(self.parts(lane, grouped)?);
            }
        }
        Ok(lines)
    }

    /// Coarse lines for display until the exact ones are ready, if those take long and a quick look at
    /// the rows is good enough. There are none for types, because only exact lines tell which types are
    /// largest.
    pub(super) fn coarse(&self, query: &Query) -> Result<Option<Vec<(LineOf, Series)>>, Cancelled> {
        if query.split != Split::Sources {
            return Ok(None);
        }
        let batches = self.batches(query);
        if !batches.iter().any(|(_, of)| self.index.is_slow(self.sums.interval, of)) {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for (names, of) in batches {
            let Some(coarse) = coarse_series(self.index, self.sums, &of, self.bins, self.cancel)? else { return Ok(None) };
            lines.extend(names.into_iter().zip(coarse));
        }
        Ok(Some(lines))
    }

    /// The lines of sources, in groups that are drawn together.
    fn batches(&self, query: &Query) -> Vec<Batch> {
        if !shows_lanes(query) {
            return vec![self.batch_of_heaps(&query.heaps)];
        }
        let heaps: Vec<HeapId> = query.lanes.iter().flat_map(|lane| &lane.heaps).copied().collect();
        // Lines of single heaps are known from all blocks; lines of several heaps are computed once.
        let (single, several): (Vec<&Lane>, Vec<&Lane>) = query.lanes.iter().partition(|lane| lane.only.is_some());
        let batch = |lanes: Vec<&Lane>| self.batch_of_layers(&lanes.into_iter().map(|lane| lane.of).collect::<Vec<_>>());
        let batches = [batch(single), batch(several), self.batch_of_heaps(&heaps)];
        batches.into_iter().filter(|(lines, _)| !lines.is_empty()).collect()
    }

    fn batch_of_heaps(&self, heaps: &[HeapId]) -> Batch {
        self.batch(lines_of_heaps(self.index.trace(), heaps))
    }

    fn batch_of_layers(&self, layers: &[LayerOf]) -> Batch {
        self.batch(lines_of_layers(self.index.trace(), layers))
    }

    fn batch(&self, (lines, line_of_heap): LinesOfHeaps) -> Batch {
        let trace = self.index.trace();
        let line = |site: SiteId| line_of_heap[trace.site(site).heap.0 as usize].filter(|_| self.mask.classes(site) != 0);
        let of = SeriesOf::new(trace, lines.len(), line);
        (lines, of)
    }

    /// The lines of an expanded lane's largest types or functions; lines of heaps are made elsewhere.
    fn parts(&self, lane: &Lane, grouped: &Grouped) -> Drawn<LineOf> {
        let trace = self.index.trace();
        let name = |name: Arc<str>| LineOf::Part(lane.of.0, lane.of.1, name);
        let mut mask = mask_of_layer(trace, lane.of);
        mask.and(self.mask);
        let inside = Lines { mask: &mask, ..*self };
        match (lane.opened, &grouped.types, &grouped.functions) {
            (Some(Parts::Types), Some(types), _) => {
                let largest = inside.largest(types, FIRST_PARTS, |_| true)?;
                Ok(largest.into_iter().map(|(group, line)| (name(group.key.name), line)).collect())
            }
            (Some(Parts::Functions), _, Some(functions)) => {
                let lines = inside.functions(functions)?;
                Ok(lines.into_iter().map(|(of, line)| (name(of), line)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The functions whose allocations have the highest peaks.
    fn functions(&self, functions: &Functions) -> Drawn<Arc<str>> {
        let of_site = |site: SiteId| functions.function(functions.responsible(site)).filter(|_| self.mask.classes(site) != 0);
        let mut sizes = vec![0u64; functions.len()];
        for (site, sums) in self.sums.sites() {
            if let Some(function) = of_site(site) {
                let size = &mut sizes[function.0 as usize];
                *size = size.saturating_add(sums.only(self.mask.classes(site)).numbers().size);
            }
        }
        let mut largest: Vec<usize> = (0..sizes.len()).filter(|&function| sizes[function] > 0).collect();
        largest.sort_by_key(|&function| (Reverse(sizes[function]), function));
        largest.truncate(CANDIDATES);
        let mut line_of = vec![None; sizes.len()];
        (0..).zip(&largest).for_each(|(line, &function)| line_of[function] = Some(line));
        let line = |site| line_of[of_site(site)?.0 as usize];
        let lines = self.draw(&SeriesOf::new(self.index.trace(), largest.len(), line))?;
        let name = |function: usize| functions.name(FunctionId(function as u32)).to_string().into();
        Ok(highest(largest.into_iter().map(name).zip(lines).collect(), FIRST_PARTS))
    }

    fn types(&self, types: &Types) -> Drawn<LineOf> {
        let lines = self.largest(types, TYPE_LINES, |_| true)?;
        Ok(lines.into_iter().map(|(group, line)| (LineOf::Type(group.key), line)).collect())
    }

    /// The largest types of a layer, the largest at the bottom, and all others on top.
    fn stack(&self, types: &Types, layer: Layer) -> Drawn<LineOf> {
        let largest = self.largest(types, TYPE_LINES, |group| group.key.layer == layer)?;
        let groups: Vec<TypeGroup> = largest.into_iter().map(|(group, _)| group).collect();
        let of = types.stack_of(self.index.trace(), layer, &groups, self.mask);
        let lines = self.draw(&of)?;
        let has_others = of.site.contains(&Some(groups.len() as u32));
        let named = groups.into_iter().map(|group| LineOf::Type(group.key));
        let others = has_others.then_some(LineOf::OtherTypes(layer));
        Ok(named.chain(others).zip(lines).collect())
    }

    /// The types with the highest peaks, among those with the largest sizes.
    fn largest(&self, types: &Types, most: usize, is_wanted: impl Fn(&TypeGroup) -> bool) -> Drawn<TypeGroup> {
        let by_size = Sort { column: Column::Size, descending: true };
        let mut groups = types.groups(self.sums, self.mask, by_size);
        groups.retain(is_wanted);
        groups.truncate(CANDIDATES);
        let lines = self.draw(&types.series_of(self.index.trace(), &groups, self.mask))?;
        Ok(highest(groups.into_iter().zip(lines).collect(), most))
    }

    fn draw(&self, of: &SeriesOf) -> Result<Vec<Series>, Cancelled> {
        series(self.index, self.sums, of, self.bins, self.cancel)
    }
}

/// The lines with the highest peaks.
fn highest<K>(mut lines: Vec<(K, Series)>, most: usize) -> Vec<(K, Series)> {
    lines.sort_by_key(|(_, line)| Reverse(line.peak));
    lines.truncate(most);
    lines
}

/// All sites of a layer in a process.
fn mask_of_layer(trace: &Trace, (process, layer): LayerOf) -> Mask {
    Mask::of_sites(trace, |_, site| {
        let heap = trace.heap(site.heap);
        (heap.process, heap.layer) == (process, layer)
    })
}
