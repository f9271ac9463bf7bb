//! The flame graph of a layer: an icicle of functions, callers above callees (or bottom-up, the other way
//! round), with widths by the chosen number. A click shows a box alone; matches of the search are highlighted.
//!
//! Boxes narrower than a point are never made, so the cost of a frame does not depend on the number of stacks.

mod choices;
mod modules;
mod page;
mod panel;
mod unit;

use std::sync::Arc;

use super::layers::LayerChoice;
use super::view::View;
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, QueryContext};
use crate::app::state::ids::ViewId;
use crate::query::{
    Cancelled, FlameBox, FlameWeight, FlameWeights, Forest, FrameName, Functions, NodeKey, find_way, flame_boxes, layer_label,
    node_name,
};
use crate::units::Layer;
pub use choices::{chosen_focus, focus_choice};
use modules::ModuleColors;
pub use panel::turn_tools;
pub use unit::{Measure, SampledIn, Unit};

/// Names of functions on the path to a node, outermost first: they identify it in every answer.
pub type Way = Vec<Arc<str>>;

/// The view's request.
#[derive(PartialEq)]
pub struct Request {
    layer: Layer,
    weight: FlameWeight,
    is_inverted: bool,
    focus: Way,
    search: String,
}

/// The boxes that are wide enough to be seen.
pub struct Icicle {
    /// The name of the root.
    whole: Box<str>,
    measure: Measure,
    /// By depth, then from left to right; the depth of the focus is the length of its path.
    boxes: Vec<FlameBox>,
    /// The index in `boxes` at which each depth begins, and the end of the last.
    depths: Vec<usize>,
    /// The path to the focus; if the focus no longer exists, as far as the path still does.
    focus: Way,
    /// The total of the root.
    total: u64,
    /// The total of the focus.
    shown: u64,
    /// The total of the matches of the search, each part counted once.
    found: u64,
    is_searched: bool,
    functions: Arc<Functions>,
    modules: ModuleColors,
}

impl Icicle {
    /// The boxes below a focus, with the matches of a lower-case search text; `whole` is the name of the root.
    pub fn of(
        weights: &FlameWeights<'_>,
        (forest, functions): (&Forest, &Arc<Functions>),
        measure: Measure,
        (whole, focus, search): (&str, &[Arc<str>], &str),
    ) -> Self {
        let is_found = |key: NodeKey| match key {
            NodeKey::Function(function) if !search.is_empty() => {
                functions.name(function).to_string().to_lowercase().contains(search)
            }
            _ => false,
        };
        let node = find_way(forest, functions, focus);
        let made = flame_boxes(weights, node, is_found);
        Self {
            whole: whole.into(),
            measure,
            modules: ModuleColors::of(&made.boxes, functions),
            boxes: made.boxes,
            depths: made.depths,
            focus: forest.way(node).into_iter().map(|key| node_name(functions, key).into()).collect(),
            total: weights.width(0),
            shown: weights.width(node),
            found: made.found,
            is_searched: !search.is_empty(),
            functions: Arc::clone(functions),
        }
    }
}

impl Icicle {
    /// Bytes of its boxes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.boxes[..])
    }

    /// Functions on the screen without names: module, and address relative to its base.
    pub fn nameless(&self) -> impl Iterator<Item = (&str, u64)> {
        self.boxes.iter().filter_map(|one| match one.key {
            NodeKey::Function(function) => match self.functions.name(function) {
                FrameName::InModule(module, rva) => Some((module, rva)),
                _ => None,
            },
            _ => None,
        })
    }
}

/// State of the view.
#[derive(Clone, Default)]
pub struct Flame {
    layer: LayerChoice,
    weight: FlameWeight,
    is_inverted: bool,
    focus: Way,
    search: String,
    icicle: Option<Arc<Icicle>>,
}

impl View for Flame {
    const ID: ViewId = ViewId::Flame;
    type Request = Request;
    type Answer = Icicle;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request {
            layer: self.layer.of(document),
            weight: self.weight_in(document),
            is_inverted: self.is_inverted,
            focus: self.focus.clone(),
            search: self.search.trim().to_lowercase(),
        })
    }

    fn answer(request: &Request, query: &mut QueryContext<'_>, tell: &mut dyn FnMut(Icicle)) -> Result<(), Cancelled> {
        let sums = query.totals()?;
        let functions = query.folded_functions()?;
        let kind = if request.is_inverted { ForestKind::Inverted } else { ForestKind::TopDown };
        let forest = query.forest(kind)?;
        let weights = FlameWeights::new(&forest, query.trace(), &sums, &query.mask, request.layer, request.weight);
        query.cancel.check()?;
        let asked = (layer_label(request.layer), request.focus.as_slice(), &*request.search);
        let measure = panel::measure(request.weight);
        tell(Icicle::of(&weights, (&forest, &functions), measure, asked));
        Ok(())
    }

    fn bytes(icicle: &Icicle) -> usize {
        icicle.bytes()
    }

    fn take(&mut self, icicle: Icicle) {
        self.icicle = Some(Arc::new(icicle));
    }
}
