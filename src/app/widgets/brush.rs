//! Dragging over a range with the primary button.

use eframe::egui::{self, PointerButton, Ui};

/// A drag in progress or just ended, in screen coordinates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Brush {
    /// Where the button went down.
    pub from: f32,
    /// Where the pointer is, or was at the release.
    pub to: f32,
    /// Whether this is the release.
    pub ended: bool,
}

/// The drag on a widget, if it is too long for a click. The release counts too: a fast user moves and
/// releases within one frame.
pub fn brush(ui: &Ui, response: &egui::Response) -> Option<Brush> {
    let id = response.id.with("drag origin");
    if response.drag_started_by(PointerButton::Primary)
        && let Some(origin) = ui.input(|i| i.pointer.press_origin())
    {
        ui.data_mut(|data| data.insert_temp(id, origin.x));
    }
    let ended = response.drag_stopped_by(PointerButton::Primary);
    if !ended && !response.dragged_by(PointerButton::Primary) {
        return None;
    }
    // The origin is kept, because egui no longer knows it after the release.
    let from = ui.data(|data| data.get_temp::<f32>(id))?;
    let to = response.interact_pointer_pos().or_else(|| ui.input(|i| i.pointer.latest_pos()))?.x;
    ((from - to).abs() >= 3.0).then_some(Brush { from, to, ended })
}
