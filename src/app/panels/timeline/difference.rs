//! Pins, and how much each line changed between two of them.

use eframe::egui::{self, FontId, Pos2, Rect, Stroke, Ui, vec2};

use super::canvas::Canvas;
use super::names::line_name;
use crate::app::base::theme;
use crate::app::document::Document;
use crate::app::state::graph::LineOf;
use crate::format;
use crate::model::HeapId;
use crate::query::ByClass;
use crate::units::{Interval, Ticks};

/// Maximum number of heaps listed.
const LISTED: usize = 5;

pub fn paint_pins(canvas: &Canvas<'_>, has_lanes: bool, ui: &Ui) {
    let (document, frame) = (canvas.document, canvas.frame());
    let painter = ui.painter().with_clip_rect(frame);
    let color = theme::pin(ui.visuals());
    let mut taken: Option<Rect> = None;
    let xs: Vec<f32> = document.pins().iter().map(|pin| canvas.x_of(*pin)).collect();
    for ((i, &x), name) in xs.iter().enumerate().zip(names(document)) {
        // Not over the texts of marks.
        painter.vline(x, canvas.lines().top()..=frame.bottom(), Stroke::new(1.5, color));
        let font = FontId::proportional(12.0);
        let text = painter.layout_no_wrap(name.clone(), font, color);
        // At the left of its line, where there is no room at the right: at the edge, or before the next pin.
        let end = xs.get(i + 1).map_or(frame.right(), |next| next.min(frame.right()));
        let left = if x + 3.0 + text.size().x > end { x - 3.0 - text.size().x } else { x + 3.0 };
        let at = Pos2::new(left.max(frame.left() + 2.0), frame.bottom() - 8.0 - text.size().y);
        let mut behind = Rect::from_min_size(at, text.size()).expand2(vec2(2.0, 0.0));
        if taken.is_some_and(|taken| taken.intersects(behind)) {
            behind = behind.translate(vec2(0.0, -behind.height()));
        }
        taken = Some(behind);
        let seconds = document.trace.clock.seconds(document.pins()[i]);
        let response = ui.interact(behind, ui.scope_id().with(("pin", i)), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name} at {seconds:.3} s")));
        painter.rect_filled(behind, 2.0, ui.visuals().extreme_bg_color.gamma_multiply(0.75));
        painter.galley(behind.min + vec2(2.0, 0.0), text, color);
    }
    // Lanes tell the difference beside their names.
    if has_lanes {
        return;
    }
    if let Some((_, by_heap)) = between(document) {
        let place = egui::Area::new(egui::Id::unique("pin difference")).fixed_pos(frame.left_top() + vec2(8.0, 20.0));
        place.show(ui.ctx(), |ui| {
            let paper = egui::Frame::popup(ui.style()).multiply_with_opacity(0.9).shadow(egui::Shadow::NONE);
            paper.show(ui, |ui| difference(ui, document, by_heap));
        });
    }
}

/// The names of the pins; that of the second with the time between them.
fn names(document: &Document) -> Vec<String> {
    let seconds = |at: Ticks| document.trace.clock.seconds(at);
    let told = document.pins().iter().zip(1..).map(|(_, number)| format!("Pin {number}"));
    let mut names: Vec<String> = told.collect();
    if let ([a, b], [_, second]) = (document.pins(), &mut names[..]) {
        *second = format!("Pin 2, {} after 1", format::duration(seconds(*b) - seconds(*a)));
    }
    names
}

/// The sums by heap between the two pins, if they are known.
fn between(document: &Document) -> Option<(Interval, &[ByClass])> {
    let [a, b] = *document.pins() else { return None };
    let (interval, by_heap) = document.answers.pins.as_ref()?;
    (*interval == Interval::new(a, b)).then_some((*interval, by_heap))
}

/// How much a line of the lanes changed between the two pins, if that is known.
pub fn change_of(document: &Document, line: &LineOf) -> Option<i64> {
    let (_, by_heap) = between(document)?;
    match line {
        LineOf::Heap(heap) => Some(by_heap.get(heap.0 as usize)?.numbers().impacting),
        LineOf::Layer(process, layer) => {
            let mut sum = ByClass::default();
            let of_layer = document.trace.heaps.iter().zip(by_heap);
            let of_layer = of_layer.filter(|(heap, _)| (heap.process, heap.layer) == (*process, *layer));
            of_layer.for_each(|(_, sums)| sum.add(sums));
            Some(sum.numbers().impacting)
        }
        _ => None,
    }
}

/// The change of each heap between the pins, the largest change first.
fn difference(ui: &mut Ui, document: &Document, by_heap: &[ByClass]) {
    ui.style_mut().spacing.item_spacing.y = 1.0;
    let changes = (0..).map(HeapId).zip(by_heap).map(|(heap, sums)| (heap, sums.numbers().impacting));
    let mut drawn: Vec<(usize, HeapId, i64)> = changes
        .filter(|&(_, change)| change != 0)
        .filter_map(|(heap, change)| Some((document.color_of(&document.line_with(heap)?)?, heap, change)))
        .collect();
    drawn.sort_by_key(|&(_, _, change)| std::cmp::Reverse(change.unsigned_abs()));
    let more = drawn.len().saturating_sub(LISTED);
    for (color, heap, change) in drawn.into_iter().take(LISTED) {
        let text = format!("{}  {}", format::signed_bytes(change), line_name(document, heap.0 as usize));
        ui.colored_label(theme::series(color, ui.visuals()), text);
    }
    if more > 0 {
        ui.weak(format!("and {} more", format::count(more as u64)));
    }
}
