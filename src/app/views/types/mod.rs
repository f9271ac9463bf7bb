//! Allocations by C++ type: a row for each type in each layer. The other types stay in the list if one is chosen.

mod panel;

use std::sync::Arc;

use eframe::egui::Ui;

use super::pane::Pane;
use super::view::{Around, View};
use crate::app::base::table::Sheet;
use crate::app::document::Document;
use crate::app::jobs::Ground;
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
    fn of(request: &Request, ground: &Ground<'_>, groups: Vec<TypeGroup>, peaks: Option<Vec<u64>>) -> Self {
        let mut wholes = Wholes::default();
        for (i, group) in groups.iter().enumerate() {
            let number = match (request.sort.column, &peaks) {
                (Column::Peak, peaks) => peaks.as_ref().map_or(0, |peaks| peaks[i]),
                (column, _) => magnitude(column, &group.numbers),
            };
            wholes.add(group.key.layer, number);
        }
        Self { interval: ground.interval(), groups, peaks, wholes }
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

    fn answer(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(TypeTable)) -> Result<(), Cancelled> {
        let (groups, _) = groups(request, ground)?;
        tell(TypeTable::of(request, ground, groups, None));
        Ok(())
    }

    fn complete(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(TypeTable)) -> Result<(), Cancelled> {
        let (groups, mask) = groups(request, ground)?;
        let (types, sums) = (ground.types()?, ground.totals()?);
        let peaks = types.peaks(&ground.index, &sums, &groups, &mask, ground.cancel)?;
        let Sort { column, descending } = request.sort;
        let (groups, peaks) = if column == Column::Peak {
            let mut both: Vec<_> = groups.into_iter().zip(peaks).collect();
            both.sort_by_key(|(_, peak)| if descending { !peak } else { *peak });
            both.into_iter().unzip()
        } else {
            (groups, peaks)
        };
        tell(TypeTable::of(request, ground, groups, Some(peaks)));
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

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }

    fn sheet(&self) -> Option<Arc<dyn Sheet>> {
        Some(Arc::clone(self.table.as_ref()?) as Arc<dyn Sheet>)
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::split(self, around, ui);
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
fn groups(request: &Request, ground: &mut Ground<'_>) -> Result<(Vec<TypeGroup>, Mask), Cancelled> {
    let (types, sums) = (ground.types()?, ground.totals()?);
    let is_choice = |what: &Predicate| matches!(what, Predicate::Type(_));
    let mask = ground.filters().mask(ground.trace(), ground.known(), |chip| chip.is_excluded || !is_choice(&chip.what));
    let mut groups = types.groups(&sums, &mask, request.sort);
    groups.retain(|group| group.key.name.to_lowercase().contains(&request.search));
    Ok((groups, mask))
}
