//! Requests of views on their way to a worker, and their answers: jobs carry both without knowing their types.

use std::any::Any;
use std::sync::Arc;

use super::query::{AnyAnswer, Query};
use super::query_context::QueryContext;
use crate::app::state::ids::ViewId;
use crate::query::Cancelled;

/// A request of a view, on its way to a worker.
pub trait Ask: Any + Send + Sync {
    /// The view that asks.
    fn view(&self) -> ViewId;
    /// Whether another request asks the same of the same view.
    fn is_same(&self, other: &dyn Ask) -> bool;
    /// Whether the answer may be made before the window asks for it.
    fn is_made_ahead(&self) -> bool;
    /// Bytes that an answer takes, roughly.
    fn bytes(&self, answer: &AnyAnswer) -> usize;
    /// Answers on a worker, before the graph is made (`views::View::answer`).
    fn answer(&self, context: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
    /// Adds what takes longer, after the graph (`views::View::complete`).
    fn complete(&self, context: &mut QueryContext<'_>, tell: &mut dyn FnMut(AnyAnswer)) -> Result<(), Cancelled>;
}

/// All that the window asks for one state.
pub struct Request {
    pub query: Query,
    /// Requests of the visible views.
    pub asks: Vec<Arc<dyn Ask>>,
}
