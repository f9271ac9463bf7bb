//! A table of up to a million single allocations, in any order, and the details of one: its whole stack with source lines.

mod details;
mod panel;

use std::sync::Arc;

use eframe::egui::Ui;

use super::pane::Pane;
use super::view::{Around, View};
use crate::app::base::table::Sheet;
use crate::app::document::Document;
use crate::app::jobs::{Ground, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::{RowId, Trace};
use crate::query::{Cancelled, Functions, RowSort, RowTable, rows};
use crate::symbols::Names;

/// Most rows that are listed.
const MOST: usize = 1_000_000;

/// The view's request.
pub struct Request {
    sort: RowSort,
}

/// The table.
pub struct Listed {
    trace: Arc<Trace>,
    table: RowTable,
    names: Arc<Names>,
    functions: Arc<Functions>,
}

/// State of the view.
#[derive(Default)]
pub struct Rows {
    sort: RowSort,
    selected: Option<RowId>,
    listed: Option<Arc<Listed>>,
}

impl View for Rows {
    const ID: ViewId = ViewId::Allocations;
    type Request = Request;
    type Answer = Listed;

    fn request(&self, _: &Document) -> Option<Request> {
        Some(Request { sort: self.sort })
    }

    fn answer(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Listed)) -> Result<(), Cancelled> {
        let table = rows(&ground.index, ground.interval(), &ground.mask, request.sort, MOST, ground.cancel)?;
        let (trace, names, functions) = (Arc::clone(ground.trace()), Arc::clone(ground.names()), ground.functions()?);
        tell(Listed { trace, table, names, functions });
        Ok(())
    }

    fn take(&mut self, listed: Listed) {
        if self.listed.as_ref().is_some_and(|before| !listed.trace.keeps_rows(&before.trace)) {
            self.selected = None; // its number may have changed
        }
        drop_aside(self.listed.replace(Arc::new(listed)));
    }
}

impl Pane for Rows {
    fn forget(&mut self) {
        drop_aside(self.listed.take());
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }

    fn sheet(&self) -> Option<Arc<dyn Sheet>> {
        Some(Arc::clone(self.listed.as_ref()?) as Arc<dyn Sheet>)
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        super::questions::menu(around, ui);
    }
}
