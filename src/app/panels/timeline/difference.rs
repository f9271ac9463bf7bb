//! Pins, and how much each line changed between two of them.

use eframe::egui::{self, Align2, FontId, Pos2, Stroke, Ui};

use super::canvas::Canvas;
use super::names::line_name;
use crate::app::base::theme;
use crate::app::document::Document;
use crate::format;
use crate::model::HeapId;
use crate::query::ByClass;
use crate::units::Interval;

/// Maximum number of heaps listed.
const LISTED: usize = 12;

pub fn paint_pins(canvas: &Canvas<'_>, ui: &Ui) {
    let (document, frame) = (canvas.document, canvas.frame());
    let painter = ui.painter().with_clip_rect(frame);
    let color = theme::pin(ui.visuals());
    for (pin, name) in document.pins.iter().zip(["A", "B"]) {
        let x = canvas.x_of(*pin);
        painter.vline(x, frame.y_range(), Stroke::new(1.5, color));
        painter.text(Pos2::new(x + 3.0, frame.bottom() - 8.0), Align2::LEFT_BOTTOM, name, FontId::proportional(13.0), color);
    }
    let [a, b] = document.pins[..] else { return };
    let Some((interval, by_heap)) = &document.answers.pins else { return };
    if *interval != Interval::new(a, b) {
        return;
    }
    let place = egui::Area::new(egui::Id::unique("pin difference")).fixed_pos(frame.left_top() + egui::vec2(8.0, 20.0));
    place.show(ui.ctx(), |ui| {
        let paper = egui::Frame::popup(ui.style()).multiply_with_opacity(0.9).shadow(egui::Shadow::NONE);
        paper.show(ui, |ui| difference(ui, document, *interval, by_heap));
    });
}

/// The change of each heap between the pins, the largest change first.
fn difference(ui: &mut Ui, document: &Document, between: Interval, by_heap: &[ByClass]) {
    ui.style_mut().spacing.item_spacing.y = 1.0;
    let [a, b] = [between.from, between.to].map(|t| document.trace.clock.seconds(t));
    ui.strong(format!("A {a:.6} s to B {b:.6} s: {}", format::duration(b - a)));
    let changes = (0..).map(HeapId).zip(by_heap).map(|(heap, sums)| (heap, sums.numbers().impacting));
    let mut drawn: Vec<(usize, HeapId, i64)> = changes
        .filter(|&(_, change)| change != 0)
        .filter_map(|(heap, change)| Some((document.color_of(&document.line_with(heap)?)?, heap, change)))
        .collect();
    drawn.sort_by_key(|&(_, _, change)| std::cmp::Reverse(change.unsigned_abs()));
    for (color, heap, change) in drawn.into_iter().take(LISTED) {
        let text = format!("{}  {}", format::signed_bytes(change), line_name(document, heap.0 as usize));
        ui.colored_label(theme::series(color, ui.visuals()), text);
    }
}
