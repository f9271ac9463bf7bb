//! The lines of the graph: which sites each is made of.

use std::cmp::Reverse;

use super::Query;
use crate::app::graph::{LineOf, Split};
use crate::model::HeapId;
use crate::query::{
    Cancel, Cancelled, Column, Index, Mask, Series, SeriesOf, Sort, Totals, TypeGroup, Types, coarse_series, series,
};
use crate::units::Layer;

/// Types of which lines are looked at for the largest peaks, and lines of types.
const TYPE_CANDIDATES: usize = 32;
const TYPE_LINES: usize = 8;

/// What all lines of a graph have in common.
pub(super) struct Lines<'a> {
    pub(super) index: &'a Index,
    pub(super) sums: &'a Totals,
    pub(super) mask: &'a Mask,
    pub(super) bins: usize,
    pub(super) cancel: &'a Cancel,
}

/// Lines, and what each is of.
type Drawn<K> = Result<Vec<(K, Series)>, Cancelled>;

impl Lines<'_> {
    /// The lines that a query wants. `types` are there if it has to do with them.
    pub(super) fn of(&self, query: &Query, types: Option<&Types>) -> Drawn<LineOf> {
        match (query.split, types) {
            (Split::Types, Some(types)) => self.types(types),
            (Split::Stack(layer), Some(types)) => self.stack(types, layer),
            _ => self.heaps(&query.heaps),
        }
    }

    /// The same where they take long and one look at the rows tells enough to be shown till they
    /// are there. Not of types, of which only the true lines tell which are largest.
    pub(super) fn coarse(&self, query: &Query) -> Result<Option<Vec<(LineOf, Series)>>, Cancelled> {
        let of = self.of_heaps(&query.heaps);
        if query.split != Split::Heaps || !self.index.is_slow(self.sums.interval, &of) {
            return Ok(None);
        }
        let lines = coarse_series(self.index, self.sums, &of, self.bins, self.cancel)?;
        Ok(lines.map(|lines| query.heaps.iter().copied().map(LineOf::Heap).zip(lines).collect()))
    }

    fn heaps(&self, heaps: &[HeapId]) -> Drawn<LineOf> {
        Ok(heaps.iter().copied().map(LineOf::Heap).zip(self.draw(&self.of_heaps(heaps))?).collect())
    }

    fn of_heaps(&self, heaps: &[HeapId]) -> SeriesOf {
        let trace = self.index.trace();
        let mut line_of = vec![None; trace.heaps.len()];
        heaps.iter().enumerate().for_each(|(i, heap)| line_of[heap.0 as usize] = Some(i as u32));
        SeriesOf::new(trace, heaps.len(), |site| {
            line_of[trace.site(site).heap.0 as usize].filter(|_| self.mask.classes(site) != 0)
        })
    }

    fn types(&self, types: &Types) -> Drawn<LineOf> {
        let lines = self.largest(types, |_| true)?;
        Ok((0..).zip(lines).map(|(rank, (group, line))| (LineOf::Type(rank, group.key), line)).collect())
    }

    /// The largest types of a layer, the largest at the bottom, and on them all others.
    fn stack(&self, types: &Types, layer: Layer) -> Drawn<LineOf> {
        let groups: Vec<TypeGroup> =
            self.largest(types, |group| group.key.layer == layer)?.into_iter().map(|(group, _)| group).collect();
        let of = types.stack_of(self.index.trace(), layer, &groups, self.mask);
        let lines = self.draw(&of)?;
        let has_others = of.site.contains(&Some(groups.len() as u32));
        let named = (0..).zip(groups).map(|(rank, group)| LineOf::Type(rank, group.key));
        let others = has_others.then_some(LineOf::OtherTypes(TYPE_LINES as u32, layer));
        Ok(named.chain(others).zip(lines).collect())
    }

    /// Those with the highest peaks among the types of which there is most.
    fn largest(&self, types: &Types, is_wanted: impl Fn(&TypeGroup) -> bool) -> Drawn<TypeGroup> {
        let by_size = Sort { column: Column::Size, descending: true };
        let mut groups = types.groups(self.sums, self.mask, by_size);
        groups.retain(is_wanted);
        groups.truncate(TYPE_CANDIDATES);
        let lines = self.draw(&types.series_of(self.index.trace(), &groups, self.mask))?;
        let mut lines: Vec<_> = groups.into_iter().zip(lines).collect();
        lines.sort_by_key(|(_, line)| Reverse(line.peak));
        lines.truncate(TYPE_LINES);
        Ok(lines)
    }

    fn draw(&self, of: &SeriesOf) -> Result<Vec<Series>, Cancelled> {
        series(self.index, self.sums, of, self.bins, self.cancel)
    }
}
