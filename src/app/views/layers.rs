//! The layer that a view is about. Layers nest, so a view of several would add sizes that contain each other.

use eframe::egui::Ui;

use super::view::ViewContext;
use crate::app::document::Document;
use crate::app::widgets::drop_down::drop_down;
use crate::query::{layer_label, layer_meaning};
use crate::units::Layer;

/// The user's choice of a layer; without one, the layer follows from the filter and the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayerChoice(Option<Layer>);

impl From<Option<Layer>> for LayerChoice {
    fn from(layer: Option<Layer>) -> Self {
        Self(layer)
    }
}

impl LayerChoice {
    /// The layer: that of the filter if it has one, else the chosen one, else the one with the largest change.
    pub fn of(self, document: &Document) -> Layer {
        let filtered = document.layer_of_filter();
        let largest = || document.source_list.leading_layer().map(|sum| sum.layer);
        filtered.or(self.0).or_else(largest).unwrap_or(Layer::Heap)
    }

    /// The layer of the filter, else the chosen one; `None` if there is neither.
    pub fn chosen(self, document: &Document) -> Option<Layer> {
        document.layer_of_filter().or(self.0)
    }

    /// The layer that the user chose; `None` if it follows from the filter and the data.
    pub fn own(self) -> Option<Layer> {
        self.0
    }

    /// Chooses a layer, so that it stays the same when the largest change moves to another one.
    pub fn keep(&mut self, layer: Layer) {
        self.0 = Some(layer);
    }

    /// Draws the choice of a layer, or the layer's name if there is nothing to choose.
    pub fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        self.show_as(context, ui, None);
    }

    /// Draws the choice like [`Self::show`]; `unless_chosen` is the layer that is shown while none is chosen.
    pub fn show_as(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui, unless_chosen: Option<Layer>) {
        let now = self.chosen(context.document).or(unless_chosen).unwrap_or_else(|| self.of(context.document));
        if context.document.layer_of_filter().is_some() || context.document.source_list.layers.len() < 2 {
            ui.weak(layer_label(now));
            return;
        }
        let shown = drop_down(ui, "layer", 150.0, layer_label(now));
        shown.show_ui(ui, |ui| {
            let document = context.document;
            for layer in document.source_list.layers.iter().map(|sum| sum.layer) {
                if ui.selectable_label(layer == now, layer_label(layer)).on_hover_text(layer_meaning(layer)).clicked() {
                    self.0 = Some(layer);
                    context.ask();
                }
            }
        });
    }
}
