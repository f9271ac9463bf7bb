//! Generations: the memory that each stretch between the user's marks has left behind, by function. Functions
//! that leave something in every generation come first.

mod panel;

use std::sync::Arc;

use super::layers::LayerChoice;
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{QueryContext, drop_aside};
use crate::app::state::ids::ViewId;
use crate::query::{Cancelled, Functions, GenerationGroup, GenerationsRequest, generations};
use crate::units::Ticks;

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    asked: GenerationsRequest,
    search: String,
}

/// The memory that was left behind.
pub struct Left {
    asked: GenerationsRequest,
    groups: Vec<GenerationGroup>,
    /// Total bytes of all groups.
    whole: u64,
    functions: Arc<Functions>,
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Generations {
    layer: LayerChoice,
    search: String,
    left: Option<Arc<Left>>,
}

impl View for Generations {
    const ID: ViewId = ViewId::Generations;
    type Request = Request;
    type Answer = Left;

    fn request(&self, document: &Document) -> Option<Request> {
        let interval = document.interval();
        let inside = document.marks().iter().copied().filter(|&mark| interval.from < mark && mark < interval.to);
        let edges: Vec<Ticks> = [interval.from].into_iter().chain(inside).chain([interval.to]).collect();
        let asked = GenerationsRequest { edges, end: interval.to, layer: self.layer.of(document) };
        Some(Request { asked, search: self.search.trim().to_lowercase() })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Left)) -> Result<(), Cancelled> {
        let functions = query.functions()?;
        let mut groups = generations(&query.index, &request.asked, &query.mask, &functions, query.cancel)?;
        if !request.search.is_empty() {
            groups.retain(|group| {
                let name = group.function.map(|function| functions.name(function).to_string().to_lowercase());
                name.is_some_and(|name| name.contains(&request.search))
            });
        }
        let whole = groups.iter().fold(0, |sum: u64, group| sum.saturating_add(group.all.size));
        tell(Left { asked: request.asked.clone(), groups, whole, functions });
        Ok(())
    }

    fn bytes(left: &Left) -> usize {
        left.groups.iter().map(|group| size_of_val(group) + size_of_val(&group.left[..])).sum()
    }

    fn take(&mut self, left: Left) {
        drop_aside(self.left.replace(Arc::new(left)));
    }
}
