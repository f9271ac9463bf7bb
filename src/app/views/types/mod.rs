//! Allocations by C++ type: a row for each type in each layer. The other types stay in the list if one is chosen.

mod panel;

use std::sync::Arc;

use eframe::egui::Ui;

use super::pane::Pane;
use super::view::{View, ViewContext};
use crate::app::base::table::TableSource;
use crate::app::document::Document;
use crate::app::jobs::QueryContext;
use crate::app::state::filters::Predicate;
use crate::app::state::graph::Split;
use crate::app::state::ids::ViewId;
use crate::app::widgets::columns::Wholes;
use crate::query::{Cancelled, Column, Mask, Sort, TypeGroup, magnitude};
use crate::units::Interval;

/// The view's request.
pub struct Request {
    /// Text that the names of the types must contain, in lower case.
    search: String,
    sort: Sort,
}

/// The table.
#[derive(Clone, Debug)]
pub struct TypeTable {
    interval: Interval,
    groups: Vec<TypeGroup>,
    /// Peak sizes of the groups, once they are known.
    peaks: Option<Vec<u64>>,
    /// Totals of the sort column per layer, for the share that each row has.
    wholes: Wholes,
}

impl TypeTable {
    fn of(request: &Request, query: &QueryContext<'_>, groups: Vec<TypeGroup>, peaks: Option<Vec<u64>>) -> Self {
        let mut wholes = Wholes::default();
        for (i, group) in groups.iter().enumerate() {
            let number = match (request.sort.column, &peaks) {
                (Column::Peak, peaks) => peaks.as_ref().map_or(0, |peaks| peaks[i]),
                (column, _) => magnitude(column, &group.numbers),
            };
            wholes.add(group.key.layer, number);
        }
        Self { interval: query.interval(), groups, peaks, wholes }
    }
}

/// State of the view.
#[derive(Debug, Default)]
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
        tell(TypeTable::of(request, query, groups, None));
        Ok(())
    }

    fn complete(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(TypeTable)) -> Result<(), Cancelled> {
        let (groups, mask) = groups(request, query)?;
        let (types, sums) = (query.types()?, query.totals()?);
        let peaks = types.peaks(&query.index, &sums, &groups, &mask, query.cancel)?;
        let Sort { column, descending } = request.sort;
        let (groups, peaks) = if column == Column::Peak {
            let mut both: Vec<_> = groups.into_iter().zip(peaks).collect();
            both.sort_by_key(|(_, peak)| if descending { !peak } else { *peak });
            both.into_iter().unzip()
        } else {
            (groups, peaks)
        };
        tell(TypeTable::of(request, query, groups, Some(peaks)));
        Ok(())
    }

    fn take(&mut self, table: TypeTable) {
        self.table = Some(Arc::new(table));
    }
}

impl Pane for Types {
    fn forget(&mut self) {
        self.table = None;
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        panel::show(self, context, ui);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn TableSource>)
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        panel::split(self, context, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn split(&self) -> Split {
        self.split
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
