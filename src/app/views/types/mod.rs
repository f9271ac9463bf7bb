//! Allocations by C++ type: a row for each type in each layer. The other types stay in the list if one is chosen.

mod panel;

use std::sync::Arc;

use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::QueryContext;
use crate::app::state::filters::Predicate;
use crate::app::state::graph::Split;
use crate::app::state::ids::ViewId;
use crate::app::widgets::columns::Wholes;
use crate::query::{Cancelled, Column, Mask, Sort, TypeGroup, magnitude};
use crate::units::Interval;

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    /// Text that the names of the types must contain, in lower case.
    search: String,
    sort: Sort,
}

/// A row: a type in a layer.
#[derive(Clone, Debug)]
pub struct Line {
    group: TypeGroup,
    /// The peak size, once it is known.
    peak: Option<u64>,
}

impl Line {
    /// The number by which rows are sorted, if the column has numbers and they are known.
    fn magnitude(&self, column: Column) -> Option<u64> {
        match column {
            Column::Name => None,
            Column::Peak => self.peak,
            column => Some(magnitude(column, &self.group.numbers)),
        }
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct TypeTable {
    interval: Interval,
    lines: Vec<Line>,
    /// Totals of the sort column per layer, for the share that each row has.
    wholes: Wholes,
}

impl TypeTable {
    fn of(request: &Request, query: &QueryContext<'_>, lines: Vec<Line>) -> Self {
        let mut wholes = Wholes::default();
        for line in &lines {
            wholes.add(line.group.key.layer, line.magnitude(request.sort.column).unwrap_or(0));
        }
        Self { interval: query.interval(), lines, wholes }
    }
}

/// State of the view.
#[derive(Clone, Debug, Default)]
pub struct Types {
    search: String,
    sort: Sort,
    split: Split,
    table: Option<Arc<TypeTable>>,
}

impl View for Types {
    const ID: ViewId = ViewId::Types;
    type Request = Request;
    type Answer = TypeTable;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request { search: self.search.to_lowercase(), sort: self.sort.in_interval(document.interval()) })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(TypeTable)) -> Result<(), Cancelled> {
        let (groups, _) = groups(request, query)?;
        let lines = groups.into_iter().map(|group| Line { group, peak: None }).collect();
        tell(TypeTable::of(request, query, lines));
        Ok(())
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(TypeTable)) -> Result<(), Cancelled> {
        let (groups, mask) = groups(request, query)?;
        let (types, sums) = (query.types()?, query.totals()?);
        let peaks = types.peaks(&query.index, &sums, &groups, &mask, query.cancel)?;
        let mut lines: Vec<Line> = groups.into_iter().zip(peaks).map(|(group, peak)| Line { group, peak: Some(peak) }).collect();
        if let Sort { column: Column::Peak, descending } = request.sort {
            lines.sort_by_key(|line| if descending { line.peak.map(|peak| !peak) } else { line.peak });
        }
        tell(TypeTable::of(request, query, lines));
        Ok(())
    }

    fn bytes(table: &TypeTable) -> usize {
        size_of_val(&table.lines[..])
    }

    fn take(&mut self, table: TypeTable) {
        self.table = Some(Arc::new(table));
    }
}

/// The listed types, in order, and the rows that are counted.
fn groups(request: &Request, query: &mut QueryContext<'_>) -> Result<(Vec<TypeGroup>, Mask), Cancelled> {
    let (types, sums) = (query.types()?, query.totals()?);
    let is_choice = |what: &Predicate| matches!(what, Predicate::Type(_));
    let mask = query.filters().mask(query.trace(), query.known(), |chip| chip.is_excluded || !is_choice(&chip.what));
    let mut groups = types.groups(&sums, &mask, request.sort);
    groups.retain(|group| group.key.name.to_lowercase().contains(&request.search));
    Ok((groups, mask))
}
