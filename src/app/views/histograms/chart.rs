//! One histogram on the screen: stacked bars over an axis of sizes or times.

use eframe::egui::{self, Align2, Color32, FontId, Rect, Sense, Stroke, Ui, Visuals, pos2, vec2};

use super::bucket::AnyBucket;
use crate::app::base::theme;
use crate::format;
use crate::query::{Bucket, ByClass, LifetimeClass, Words};

/// The number that bar heights show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measure {
    #[default]
    Bytes,
    Count,
}

/// The scale of bar heights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    #[default]
    Linear,
    Log,
}

/// Lifetime classes from the axis upwards: what stays comes first, as heights are compared best from a common base.
pub const STACKED: [LifetimeClass; 4] = [LifetimeClass::Aifo, LifetimeClass::Aifi, LifetimeClass::Aofi, LifetimeClass::Aofo];

/// One bucket.
pub struct Bar {
    pub bucket: AnyBucket,
    pub sums: ByClass,
    /// Whether there is a chip of this bucket.
    pub is_chip: bool,
    /// Whether the chips of its kind let the bucket through.
    pub is_left: bool,
}

/// The user's action on a bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Click(AnyBucket),
    LeaveOut(AnyBucket),
}

pub struct Chart<'a> {
    pub title: &'static str,
    pub bars: &'a [Bar],
    pub measure: Measure,
    pub scale: Scale,
    pub words: Words,
}

/// Maximum width of a bar.
const WIDEST: f32 = 72.0;

/// Points left of the axis for the labels of heights.
const MARGIN: f32 = 58.0;

/// The colour of a lifetime class.
pub fn class_color(class: LifetimeClass, visuals: &Visuals) -> Color32 {
    let series = match class {
        LifetimeClass::Aifi => 0,
        LifetimeClass::Aifo => 1,
        LifetimeClass::Aofi => 2,
        LifetimeClass::Aofo => 9,
    };
    theme::series(series, visuals)
}

impl Measure {
    pub fn label(self) -> &'static str {
        match self {
            Self::Bytes => "Bytes",
            Self::Count => "Count",
        }
    }

    fn of(self, bucket: Bucket) -> u64 {
        match self {
            Self::Bytes => bucket.size,
            Self::Count => bucket.count,
        }
    }

    fn short(self, value: u64) -> String {
        match self {
            Self::Bytes => format::rough_bytes(value),
            Self::Count => format::count(value),
        }
    }
}

/// The sum of all classes.
fn all(sums: &ByClass) -> Bucket {
    LifetimeClass::ALL.into_iter().fold(Bucket::default(), |sum, class| sum.plus(sums.get(class)))
}

impl Chart<'_> {
    pub fn show(&self, ui: &mut Ui) -> Option<Action> {
        self.headline(ui);
        let rect = ui.available_rect_before_wrap();
        let area =
            Rect::from_min_max(pos2(rect.left() + MARGIN, rect.top() + 16.0), pos2(rect.right() - 4.0, rect.bottom() - 22.0));
        if area.width() < 20.0 || area.height() < 20.0 || self.bars.is_empty() {
            return None;
        }
        let most = self.bars.iter().map(|bar| self.value(bar)).max().unwrap_or(0).max(1);
        self.grid(ui, area, most);
        // The bar of lifetimes without an end stands apart from the others, by half a bar.
        let apart = self.bars.len() > 1 && self.bars.last().is_some_and(|bar| bar.bucket.is_apart());
        let slots = self.bars.len() as f32 + if apart { 0.5 } else { 0.0 };
        let width = (area.width() / slots).min(WIDEST);
        let mut did = None;
        let mut free_from = f32::MIN;
        for (i, bar) in self.bars.iter().enumerate() {
            let shift = if bar.bucket.is_apart() && apart { 0.5 } else { 0.0 };
            let left = area.left() + (i as f32 + shift) * width;
            let slot = Rect::from_min_max(pos2(left, area.top() - 14.0), pos2(left + width, area.bottom()));
            did = self.bar(ui, slot, area, most, bar).or(did);
            self.label(ui, slot, bar, &mut free_from);
        }
        ui.painter().hline(area.x_range(), area.bottom(), Stroke::new(1.0, ui.visuals().weak_text_color()));
        did
    }

    /// Draws the title, and the totals of the buckets that the chips let through.
    fn headline(&self, ui: &mut Ui) {
        let mut sum = Bucket::default();
        self.bars.iter().filter(|bar| bar.is_left).for_each(|bar| sum.add(all(&bar.sums)));
        ui.horizontal(|ui| {
            ui.strong(self.title);
            let text = format!("{}, count {}", format::bytes(sum.size), format::count(sum.count));
            ui.add(egui::Label::new(egui::RichText::new(text).weak()).truncate());
        });
    }

    fn value(&self, bar: &Bar) -> u64 {
        self.measure.of(all(&bar.sums))
    }

    /// The height for a value, as a fraction of the chart: 0 to 1.
    fn height(&self, value: u64, most: u64) -> f32 {
        let (value, most) = (value as f64, most as f64);
        match self.scale {
            Scale::Linear => (value / most) as f32,
            Scale::Log => (value.ln_1p() / most.ln_1p()) as f32,
        }
    }

    fn grid(&self, ui: &Ui, area: Rect, most: u64) {
        let (weak, line) = (ui.visuals().weak_text_color(), ui.visuals().widgets.noninteractive.bg_stroke.color);
        let mut below = f32::MAX;
        for value in self.marks(most) {
            let y = area.bottom() - self.height(value, most) * area.height();
            if below - y < 22.0 {
                continue;
            }
            below = y;
            ui.painter().hline(area.x_range(), y, Stroke::new(1.0, line.gamma_multiply(0.6)));
            let text = self.measure.short(value);
            ui.painter().text(pos2(area.left() - 6.0, y), Align2::RIGHT_CENTER, text, FontId::proportional(11.0), weak);
        }
    }

    /// Round values for grid lines, from 0 up to at most the highest, ascending.
    fn marks(&self, most: u64) -> Vec<u64> {
        let base: f64 = if self.measure == Measure::Bytes { 2.0 } else { 10.0 };
        match self.scale {
            Scale::Linear => {
                let rough = most as f64 / 4.0;
                let power = base.powf(rough.log(base).floor().max(0.0));
                let by: &[f64] = if base == 2.0 { &[1.0, 2.0] } else { &[1.0, 2.0, 5.0, 10.0] };
                let step = by.iter().map(|by| by * power).find(|step| *step >= rough).unwrap_or(power);
                (0..=10).map(|i| (f64::from(i) * step) as u64).take_while(|value| *value <= most).collect()
            }
            Scale::Log => {
                let step = if base == 2.0 { 1024.0 } else { 10.0f64 };
                let powers = (0..24).map(|i| step.powi(i)).take_while(|value| *value <= most as f64);
                std::iter::once(0).chain(powers.map(|value| value as u64)).collect()
            }
        }
    }

    /// Draws one bar; returns the user's action on it.
    fn bar(&self, ui: &mut Ui, slot: Rect, area: Rect, most: u64, bar: &Bar) -> Option<Action> {
        let id = ui.scope_id().with((self.title, bar.bucket.words()));
        let is_something = bar.is_chip || !bar.sums.is_empty();
        let response = ui.interact(slot, id, if is_something { Sense::click() } else { Sense::hover() });
        let sum = all(&bar.sums);
        let label = format!("Bar {}: {}, count {}", bar.bucket.words(), format::bytes(sum.size), format::count(sum.count));
        response.widget_info(|| {
            egui::WidgetInfo::selected(egui::Role::Button, is_something, bar.is_chip && bar.is_left, label.clone())
        });
        let visuals = ui.visuals();
        if response.hovered() || bar.is_chip {
            let fill = if bar.is_chip { visuals.selection.bg_fill.gamma_multiply(0.3) } else { visuals.faint_bg_color };
            ui.painter().rect_filled(slot, 3.0, fill);
        }
        let value = self.value(bar);
        let whole = if value == 0 { 0.0 } else { (self.height(value, most) * area.height()).max(2.0) };
        let inner = slot.shrink2(vec2((slot.width() * 0.08).clamp(0.5, 4.0), 0.0));
        let mut from = area.bottom();
        for class in STACKED {
            // On a logarithmic scale too, each class takes its linear share of the bar.
            let height = whole * (self.measure.of(bar.sums.get(class)) as f32 / value.max(1) as f32);
            let color = class_color(class, visuals).gamma_multiply(if bar.is_left { 1.0 } else { 0.3 });
            let part = Rect::from_min_max(pos2(inner.left(), from - height), pos2(inner.right(), from));
            ui.painter().rect_filled(part, 1.0, color);
            from -= height;
        }
        self.number(ui, pos2(slot.center().x, from - 2.0), slot.width(), value);
        response.clone().on_hover_ui_at_pointer(|ui| self.details(ui, bar));
        let mut did = response.clicked().then_some(Action::Click(bar.bucket));
        response.context_menu(|ui| {
            ui.strong(format::sentence(&bar.bucket.words()));
            let first = if bar.is_chip { "Remove this filter" } else { "Filter to this bucket" };
            if ui.button(first).clicked() {
                did = Some(Action::Click(bar.bucket));
            }
            if ui.button("Exclude this bucket").clicked() {
                did = Some(Action::LeaveOut(bar.bucket));
            }
        });
        did
    }

    /// Draws the value above a bar, if there is enough space.
    fn number(&self, ui: &Ui, at: egui::Pos2, room: f32, value: u64) {
        if value == 0 {
            return;
        }
        let weak = ui.visuals().weak_text_color();
        let galley = ui.painter().layout_no_wrap(self.measure.short(value), FontId::proportional(11.0), weak);
        if galley.size().x <= room - 2.0 {
            ui.painter().galley(pos2(at.x - galley.size().x / 2.0, at.y - galley.size().y), galley, weak);
        }
    }

    /// Draws the label of the bar's left edge on the axis, unless it would overlap the previous label.
    fn label(&self, ui: &Ui, slot: Rect, bar: &Bar, free_from: &mut f32) {
        let (weak, font) = (ui.visuals().weak_text_color(), FontId::proportional(11.0));
        let text = if bar.bucket.is_apart() { "No end".to_owned() } else { bar.bucket.edge() };
        let galley = ui.painter().layout_no_wrap(text, font, weak);
        let middle = if bar.bucket.is_apart() { slot.center().x } else { slot.left() };
        let left = middle - galley.size().x / 2.0;
        if left < *free_from {
            return;
        }
        *free_from = left + galley.size().x + 6.0;
        if !bar.bucket.is_apart() {
            ui.painter().vline(slot.left(), slot.bottom()..=slot.bottom() + 3.0, Stroke::new(1.0, weak));
        }
        ui.painter().galley(pos2(left, slot.bottom() + 4.0), galley, weak);
    }

    fn details(&self, ui: &mut Ui, bar: &Bar) {
        ui.strong(format::sentence(&bar.bucket.words()));
        if bar.bucket.is_apart() {
            ui.weak("Never freed in this trace, or there before it");
        }
        let sum = all(&bar.sums);
        ui.label(format!("{} in {} allocations", format::bytes(sum.size), format::count(sum.count)));
        egui::Grid::new("classes").num_columns(4).spacing([10.0, 2.0]).show(ui, |ui| {
            for class in STACKED.into_iter().filter(|class| bar.sums.get(*class).count > 0) {
                let of = bar.sums.get(class);
                ui.colored_label(class_color(class, ui.visuals()), class.short(self.words));
                ui.label(format::bytes(of.size));
                ui.label(format::count(of.count));
                ui.weak(class.meaning());
                ui.end_row();
            }
        });
    }
}
