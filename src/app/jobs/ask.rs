//! Requests of views on their way to a worker, and their answers: jobs carry both without knowing their types.

use super::query::{AnyAnswer, Query};
use super::query_context::QueryContext;
use crate::app::state::ids::ViewId;
use crate::query::Cancelled;

/// A request of a view, on its way to a worker.
pub trait Ask: Send {
    /// The view that asks.
    fn view(&self) -> ViewId;
    /// Answers on a worker, before the graph is made (`views::View::answer`).
    fn answer(&self, context: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
    /// Adds what takes longer, after the graph (`views::View::complete`).
    fn complete(&self, context: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
}

/// All that the window asks for one state.
pub struct Request {
    pub query: Query,
    /// Requests of the visible views.
    pub asks: Vec<Box<dyn Ask>>,
}
