//! What the columns of tables are called and mean, and how their numbers look: the same in
//! every view.

use eframe::egui::{self, Sense, Ui};

use crate::app::theme;
use crate::query::Column;

/// Header of a column, in WPA's words where it has them.
pub fn title(column: Column) -> &'static str {
    match column {
        Column::Name => "Process / Heap / Type / Stack",
        Column::Count => "Count",
        Column::Size => "Size",
        Column::Impacting => "Impacting Size",
        Column::OutstandingFrom => "At Start",
        Column::OutstandingTo => "At End",
        Column::Peak => "Peak",
        Column::AllocTime => "Alloc/Commit Time",
        Column::FreeTime => "Free/Decommit Time",
        Column::Address => "Address",
        Column::Thread => "Thread",
    }
}

/// What a column's number means.
pub fn explanation(column: Column) -> &'static str {
    match column {
        Column::Name => {
            "Process, layer of memory, heap or tracker, Impacting Type, Type (lifetime class), call stack from the thread's start inwards, single allocations"
        }
        Column::Count => "Allocations alive at some moment of the interval",
        Column::Size => "Their bytes in all, however short they lived (requested bytes in heaps)",
        Column::Impacting => {
            "Change of the outstanding size between the edges of the interval: what was allocated in it and stayed, minus what was freed in it and was there before"
        }
        Column::OutstandingFrom => "Outstanding size: bytes alive at the interval's left edge",
        Column::OutstandingTo => "Outstanding size: bytes alive at the interval's right edge",
        Column::Peak => "Largest outstanding size in the interval",
        Column::AllocTime => "When a block was allocated or a range committed, since the trace start",
        Column::FreeTime => "When it was freed or decommitted; \u{2014} if never",
        Column::Address => "First byte",
        Column::Thread => "Thread that allocated",
    }
}

/// Points of a column at first.
pub fn width(column: Column) -> f32 {
    match column {
        Column::Name => 360.0,
        Column::Count => 66.0,
        Column::AllocTime | Column::FreeTime => 136.0,
        Column::Address => 124.0,
        Column::Thread => 110.0,
        Column::Impacting => 118.0,
        _ => 84.0,
    }
}

/// Colour of a change.
pub fn number_color(change: i64, visuals: &egui::Visuals) -> egui::Color32 {
    match change {
        1.. => theme::growth(visuals),
        0 => visuals.text_color(),
        _ => theme::shrinkage(visuals),
    }
}

/// A small triangle; arrows are not in every font.
pub fn sort_mark(ui: &mut Ui, descending: bool) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(8.0, 8.0), Sense::hover());
    let (base, tip) = if descending { (rect.top() + 1.0, rect.bottom() - 1.0) } else { (rect.bottom() - 1.0, rect.top() + 1.0) };
    let corners = vec![egui::pos2(rect.left(), base), egui::pos2(rect.right(), base), egui::pos2(rect.center().x, tip)];
    ui.painter().add(egui::Shape::convex_polygon(corners, ui.visuals().text_color(), egui::Stroke::NONE));
}
