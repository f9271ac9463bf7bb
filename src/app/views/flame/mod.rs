//! The flame graph of a layer: an icicle of functions, callers above what they called (or,
//! bottom up, the other way round), as wide as the number that is chosen. A click makes a box
//! the whole; what is searched for lights up.
//!
//! What is narrower than a point is never made, so a frame costs the same however many stacks
//! there are.

mod panel;
mod unit;

use std::sync::Arc;

use eframe::egui::Ui;

use super::layers::LayerChoice;
use super::{Around, Pane, View};
use crate::app::document::Document;
use crate::app::jobs::{ForestKind, Ground};
use crate::app::state::ids::ViewId;
use crate::query::{
    Cancelled, FlameBox, FlameWeight, FlameWeights, Forest, FrameName, Functions, NodeKey, find_way, flame_boxes, layer_label,
    node_name,
};
use crate::units::Layer;
pub use panel::turn_tools;
pub use unit::{Measure, SampledIn, Unit};

/// Names of functions from the outside inwards: what a node is called in every answer.
pub type Way = Vec<Arc<str>>;

/// What is asked.
pub struct Request {
    layer: Layer,
    weight: FlameWeight,
    is_inverted: bool,
    focus: Way,
    search: String,
}

/// The boxes that can be seen.
pub struct Icicle {
    /// What all of it is called.
    whole: Box<str>,
    measure: Measure,
    /// By depth, then from left to right; the focus is at the depth of its way.
    boxes: Vec<FlameBox>,
    /// Where each depth begins in `boxes`, and where the last ends.
    depths: Vec<usize>,
    /// The way to the focus; of a focus that is not there any more, as far as there is one.
    focus: Way,
    /// All there is.
    total: u64,
    /// What the focus is of it.
    shown: u64,
    /// What the search lights up, counted once.
    found: u64,
    is_searched: bool,
    functions: Arc<Functions>,
}

impl Icicle {
    /// Of what is called `whole` what is seen from a focus, with what a text in small letters lights up.
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
    /// The places of functions in sight that have no names: modules, and from their bases.
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
#[derive(Default)]
pub struct Flame {
    layer: LayerChoice,
    weight: FlameWeight,
    is_inverted: bool,
    focus: Way,
    search: String,
    icicle: Option<Icicle>,
}

impl View for Flame {
    const ID: ViewId = ViewId::Flame;
    type Request = Request;
    type Answer = Icicle;

    fn request(&self, document: &Document) -> Option<Request> {
        Some(Request {
            layer: self.layer.of(document),
            weight: self.weight,
            is_inverted: self.is_inverted,
            focus: self.focus.clone(),
            search: self.search.trim().to_lowercase(),
        })
    }

    fn answer(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Icicle)) -> Result<(), Cancelled> {
        let sums = ground.totals()?;
        let functions = ground.folded_functions()?;
        let kind = if request.is_inverted { ForestKind::Inverted } else { ForestKind::TopDown };
        let forest = ground.forest(kind)?;
        let weights = FlameWeights::new(&forest, ground.trace(), &sums, &ground.mask, request.layer, request.weight);
        ground.cancel.check()?;
        let asked = (layer_label(request.layer), request.focus.as_slice(), &*request.search);
        let measure = panel::measure(request.weight);
        tell(Icicle::of(&weights, (&forest, &functions), measure, asked));
        Ok(())
    }

    fn take(&mut self, icicle: Icicle) {
        self.icicle = Some(icicle);
    }
}

impl Pane for Flame {
    fn forget(&mut self) {
        self.icicle = None;
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::tools(self, around, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }
}
