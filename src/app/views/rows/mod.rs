//! A table of up to a million single allocations, in any order, and the details of one: its whole stack with source lines.

pub mod details;
mod panel;

use std::sync::Arc;

use super::view::View;
use crate::app::base::table::SortKey;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::model::{RowId, Trace};
use crate::query::{Cancelled, Functions, RowColumn, RowSort, RowTable, rows};
use crate::symbols::Names;

/// Most rows that are listed.
const MOST: usize = 1_000_000;

impl SortKey for RowColumn {
    fn names() -> impl IntoIterator<Item = (Self, &'static str)> {
        [
            (Self::Address, "address"),
            (Self::Size, "size"),
            (Self::AllocTime, "alloc-time"),
            (Self::FreeTime, "free-time"),
            (Self::Lifetime, "lifetime"),
            (Self::Thread, "thread"),
        ]
    }
}

/// The view's request.
#[derive(PartialEq)]
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
#[derive(Clone, Default)]
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

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Listed)) -> Result<(), Cancelled> {
        let table = rows(&query.index, query.interval(), &query.mask, request.sort, MOST, query.cancel)?;
        let (trace, names, functions) = (Arc::clone(query.trace()), Arc::clone(query.names()), query.functions()?);
        tell(Listed { trace, table, names, functions });
        Ok(())
    }

    fn bytes(listed: &Listed) -> usize {
        size_of_val(&listed.table.rows[..])
    }

    fn take(&mut self, listed: Listed) {
        if self.listed.as_ref().is_some_and(|before| !listed.trace.keeps_rows(&before.trace)) {
            self.selected = None; // its number may have changed
        }
        drop_aside(self.listed.replace(Arc::new(listed)));
    }
}
