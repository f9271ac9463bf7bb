//! The two histograms, their options and their legend.

use eframe::egui::{self, Rect, Sense, Ui, UiBuilder, pos2, vec2};

use super::Histograms;
use super::bucket::{AnyBucket, BucketKind, bucket_of};
use super::chart::{Action, Bar, Chart, Measure, STACKED, Scale, class_color};
use crate::app::commands::DocCommand;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::views::{Pane, ViewContext, questions};
use crate::query::{ByClass, Words, layer_label};
use crate::units::Layer;

/// Width in points from which the histograms stand side by side.
const WIDE: f32 = 560.0;

/// Minimum height of a histogram in points.
const LOWEST: f32 = 150.0;

impl Pane for Histograms {
    fn forget(&mut self) {
        self.distributed = None;
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(distributed) = &self.distributed else {
            context.wait(ui);
            return;
        };
        if [&distributed.by_size, &distributed.by_lifetime].into_iter().flatten().all(ByClass::is_empty) {
            let layer = layer_label(distributed.layer);
            context.nothing(ui, &format!("{layer}: nothing was alive in this interval."));
            return;
        }
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            let (width, height) = (ui.available_width(), ui.available_height() - 4.0);
            let is_wide = width >= WIDE;
            let size =
                if is_wide { vec2((width - 16.0) / 2.0, height.max(LOWEST)) } else { vec2(width, (height / 2.0).max(LOWEST)) };
            let place = if is_wide { vec2(width, size.y) } else { vec2(width, size.y * 2.0) };
            let (area, _) = ui.allocate_exact_size(place, Sense::hover());
            let step = if is_wide { vec2(size.x + 16.0, 0.0) } else { vec2(0.0, size.y) };
            for (kind, i) in [(BucketKind::Size, 0.0), (BucketKind::Lifetime, 1.0)] {
                let part = Rect::from_min_size(pos2(area.left() + i * step.x, area.top() + i * step.y), size);
                ui.scope_builder(UiBuilder::new().max_rect(part), |ui| {
                    let sums = if kind == BucketKind::Size { &distributed.by_size } else { &distributed.by_lifetime };
                    chart(sums, kind, (self.measure, self.scale), context, ui);
                });
            }
        });
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        questions::menu(context, ui);
        tools(self, context, ui);
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }
}

/// Draws one histogram in the available space; a click filters to its bucket.
pub fn chart(sums: &[ByClass], kind: BucketKind, (measure, scale): (Measure, Scale), context: &mut ViewContext<'_>, ui: &mut Ui) {
    let bars = bars(sums, kind, context);
    let title = if kind == BucketKind::Size { "By size" } else { "By lifetime" };
    if let Some(did) = (Chart { title, bars: &bars, measure, scale, words: context.document.reading.words }).show(ui) {
        carry_out(did, kind, context);
    }
}

/// Draws the options and the legend.
pub fn tools(view: &mut Histograms, context: &mut ViewContext<'_>, ui: &mut Ui) {
    switches(view, context, ui);
    ui.separator();
    legend(context.document.reading.words, ui);
}

fn switches(view: &mut Histograms, context: &mut ViewContext<'_>, ui: &mut Ui) {
    view.layer.show(context, ui);
    for (measure, hint) in [(Measure::Bytes, "Bytes per bucket"), (Measure::Count, "Allocations per bucket")] {
        if ui.selectable_label(view.measure == measure, measure.label()).on_hover_text(hint).clicked() {
            view.measure = measure;
        }
    }
    let hint = "Logarithmic heights, so that small buckets are visible beside large ones";
    if ui.selectable_label(view.scale == Scale::Log, "Log").on_hover_text(hint).clicked() {
        view.scale = if view.scale == Scale::Log { Scale::Linear } else { Scale::Log };
    }
}

/// Draws the lifetime classes with their colours, with short names where space is limited.
fn legend(words: Words, ui: &mut Ui) {
    let words = if ui.available_size_before_wrap().x < 420.0 { Words::Wpa } else { words };
    for class in STACKED {
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(rect, 2.0, class_color(class, ui.visuals()));
        ui.label(class.short(words)).on_hover_text(format!("{}: {}", class.name(), class.meaning()));
        ui.add_space(4.0);
    }
    if ui.available_size_before_wrap().x > 180.0 {
        ui.weak("Click a bar to filter to it");
    }
}

/// The bars from the first to the last that is not empty or has a chip; the bar that stands apart only if it is either.
fn bars(sums: &[ByClass], kind: BucketKind, context: &ViewContext<'_>) -> Vec<Bar> {
    let clock = &context.document.trace.clock;
    let chips: Vec<(AnyBucket, bool)> = context
        .document
        .filters()
        .chips()
        .iter()
        .filter_map(|chip| Some((bucket_of(&chip.what, clock)?, chip.is_excluded)))
        .filter(|(bucket, _)| bucket.kind() == kind)
        .collect();
    let any_chosen = chips.iter().any(|(_, is_excluded)| !is_excluded);
    let bar = |(bucket, sums): (AnyBucket, &ByClass)| {
        let chip = chips.iter().find(|(of, _)| *of == bucket);
        let is_left = chip.map_or(!any_chosen, |(_, is_excluded)| !is_excluded);
        Bar { bucket, sums: *sums, is_chip: chip.is_some(), is_left }
    };
    let all: Vec<Bar> = AnyBucket::all(kind).into_iter().zip(sums).map(bar).collect();
    let is_wanted = |bar: &Bar| !bar.sums.is_empty() || bar.is_chip;
    let on_axis = |bar: &Bar| is_wanted(bar) && !bar.bucket.is_apart();
    let first = all.iter().position(on_axis).unwrap_or(0);
    let last = all.iter().rposition(on_axis).map_or(0, |last| last + 1);
    let places = first..last;
    all.into_iter()
        .enumerate()
        .filter(|(i, bar)| places.contains(i) || bar.bucket.is_apart() && is_wanted(bar))
        .map(|(_, bar)| bar)
        .collect()
}

/// Changes the chips. A click on a bucket with a chip removes that chip; else the bucket replaces the one chosen before.
fn carry_out(did: Action, kind: BucketKind, context: &mut ViewContext<'_>) {
    let clock = &context.document.trace.clock;
    let chips = context.document.filters().chips().iter().filter_map(|chip| Some((bucket_of(&chip.what, clock)?, chip)));
    let chips: Vec<(AnyBucket, &Chip)> = chips.filter(|(bucket, _)| bucket.kind() == kind).collect();
    let of =
        |bucket| -> Vec<Predicate> { chips.iter().filter(|(of, _)| *of == bucket).map(|(_, chip)| chip.what.clone()).collect() };
    let chosen =
        || -> Vec<Predicate> { chips.iter().filter(|(_, chip)| !chip.is_excluded).map(|(_, chip)| chip.what.clone()).collect() };
    let (away, add) = match did {
        Action::Click(bucket) if !of(bucket).is_empty() => (of(bucket), vec![]),
        Action::Click(bucket) => (chosen(), vec![Chip::only(bucket.predicate(clock))]),
        Action::LeaveOut(bucket) => (of(bucket), vec![Chip::without(bucket.predicate(clock))]),
    };
    context.commands.push(DocCommand::ChangeChips { away, add });
}
