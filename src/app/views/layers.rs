//! Which layer a view is about: layers nest, so a picture of several would add what is not
//! to be added.

use eframe::egui::{self, Ui};

use super::Around;
use crate::app::document::Document;
use crate::query::{Key, layer_label};
use crate::units::Layer;

/// The user's choice, or what follows from the filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayerChoice(Option<Layer>);

impl LayerChoice {
    /// The layer: that of the filter if it is in one, else the chosen one, else that in which
    /// most has changed.
    pub fn of(self, document: &Document) -> Layer {
        let filtered = filtered(document);
        let largest = || document.digest.leading_layer().map(|sum| sum.layer);
        filtered.or(self.0).or_else(largest).unwrap_or(Layer::Heap)
    }

    /// The layer of the filter, else the chosen one.
    pub fn chosen(self, document: &Document) -> Option<Layer> {
        filtered(document).or(self.0)
    }

    /// Stays with a layer, whatever the largest change is in from now on.
    pub fn keep(&mut self, layer: Layer) {
        self.0 = Some(layer);
    }

    /// Draws the choice, where there is one.
    pub fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        self.show_as(around, ui, None);
    }

    /// The same, where it is known which layer is shown while none is chosen.
    pub fn show_as(&mut self, around: &mut Around<'_>, ui: &mut Ui, unless_chosen: Option<Layer>) {
        let now = self.chosen(around.document).or(unless_chosen).unwrap_or_else(|| self.of(around.document));
        if filtered(around.document).is_some() || around.document.digest.layers.len() < 2 {
            ui.weak(layer_label(now));
            return;
        }
        let shown = egui::ComboBox::from_id_salt("layer").width(150.0).selected_text(layer_label(now));
        shown.show_ui(ui, |ui| {
            let document = around.document;
            for layer in document.digest.layers.iter().map(|sum| sum.layer) {
                if ui.selectable_label(layer == now, layer_label(layer)).clicked() {
                    self.0 = Some(layer);
                    around.ask();
                }
            }
        });
    }
}

/// The layer in which all is that the filter leaves, if it is one.
pub fn filtered(document: &Document) -> Option<Layer> {
    document.filters().under().any.iter().flat_map(|path| path.iter()).find_map(|key| match *key {
        Key::Layer(layer) => Some(layer),
        Key::Heap(heap) => Some(document.trace.heap(heap).layer),
        _ => None,
    })
}
