//! The flame graph on the screen.

use eframe::egui::{self, Color32, FontId, Rect, Sense, Ui, Visuals, pos2, vec2};

use super::{Flame, Icicle, Measure, Unit, Way, choices};
use crate::app::base::theme;
use crate::app::commands::Command;
use crate::app::document::Document;
use crate::app::services::picture::{PictureFormat, PictureRequest, Subject};
use crate::app::state::filters::Predicate;
use crate::app::state::ids::ViewId;
use crate::app::state::view_choices::ViewChoices;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::drop_down::drop_down;
use crate::export::html::FlameGraph;
use crate::format;
use crate::query::{FlameBox, FlameWeight, FrameName, NodeKey, node_name};
use crate::units::Layer;

const BOX_HEIGHT: f32 = 18.0;

/// Minimum width in points of a box with its name in it.
const NAMED_FROM: f32 = 26.0;

/// Minimum width in points of a box that is drawn by itself.
const DRAWN_FROM: f32 = 0.6;

fn weight_label(weight: FlameWeight) -> &'static str {
    match weight {
        FlameWeight::Impacting => "Impacting Size",
        FlameWeight::Size => "Size",
        FlameWeight::AtStart => "At Start",
        FlameWeight::AtEnd => "At End",
        FlameWeight::Count => "Count",
    }
}

/// Whether a weight says something: at an instant only what is alive does.
fn has_meaning(weight: FlameWeight, document: &Document) -> bool {
    !document.interval().is_empty() || matches!(weight, FlameWeight::AtEnd | FlameWeight::Count)
}

/// The label and unit of the widths by a weight.
pub fn measure(weight: FlameWeight) -> Measure {
    let unit = match weight {
        FlameWeight::Impacting => Unit::Change { less: "less at the end" },
        FlameWeight::Count => Unit::Count,
        FlameWeight::Size | FlameWeight::AtStart | FlameWeight::AtEnd => Unit::Bytes,
    };
    Measure { label: weight_label(weight), unit }
}

/// Draws the buttons that turn a flame graph around and that show all of it again.
pub fn turn_tools((is_inverted, focus): (&mut bool, &mut Way), context: &mut ViewContext<'_>, ui: &mut Ui) {
    let hint = "Innermost functions above, and under each what called it";
    if ui.selectable_label(*is_inverted, "Bottom-up").on_hover_text(hint).clicked() {
        *is_inverted = !*is_inverted;
        focus.clear();
        context.ask();
    }
    if !focus.is_empty() && ui.button("Whole").on_hover_text("Show all of it again").clicked() {
        focus.clear();
        context.ask();
    }
}

impl Pane for Flame {
    fn forget(&mut self) {
        self.icicle = None;
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let Some(icicle) = &self.icicle else {
            context.wait(ui);
            return;
        };
        if let Some(focus) = icicle.show(context, ui).filter(|focus| *focus != self.focus) {
            self.focus = focus;
            context.ask();
        }
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        self.layer.show(context, ui);
        let now = self.weight_in(context.document);
        let shown = drop_down(ui, "flame weight", 110.0, weight_label(now));
        shown.show_ui(ui, |ui| {
            for weight in FlameWeight::ALL.into_iter().filter(|weight| has_meaning(*weight, context.document)) {
                if ui.selectable_label(now == weight, weight_label(weight)).clicked() {
                    self.weight = weight;
                    context.ask();
                }
            }
        });
        turn_tools((&mut self.is_inverted, &mut self.focus), context, ui);
    }

    fn flame_graph(&self) -> Option<FlameGraph> {
        Some(self.icicle.as_ref()?.as_page(ViewId::Flame.title(), self.is_inverted))
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        choices.weight = choices::saved_weight(self.weight);
        let is_usual = !self.is_inverted && self.focus.is_empty();
        choices.focus = (!is_usual).then(|| choices::focus_choice(self.is_inverted, &self.focus));
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        self.weight = choices::weight(choices);
        (self.is_inverted, self.focus) = choices::chosen_focus(choices).unwrap_or_default();
    }
}

impl Flame {
    /// The weight that is drawn: the chosen one, or at an instant what is alive.
    pub(super) fn weight_in(&self, document: &Document) -> FlameWeight {
        if has_meaning(self.weight, document) { self.weight } else { FlameWeight::AtEnd }
    }
}

impl Icicle {
    /// Draws the graph; returns the path to the box that the user wants to see alone.
    pub fn show(&self, context: &mut ViewContext<'_>, ui: &mut Ui) -> Option<Way> {
        if self.total == 0 {
            context.nothing(ui, &format!("{}: nothing to show for {} in this interval.", self.whole, self.measure.label));
            return None;
        }
        if self.is_searched {
            let share = format::percent(self.found as f64 / self.shown.max(1) as f64);
            ui.weak(format!("The search matches {share} of what is shown."));
        }
        self.legend(ui);
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| self.draw(context, ui)).inner
    }

    fn depth_count(&self) -> usize {
        self.depths.len() - 1
    }

    /// Draws the boxes; returns the path to the box that the user wants to see alone.
    fn draw(&self, context: &mut ViewContext<'_>, ui: &mut Ui) -> Option<Way> {
        let size = vec2(ui.available_width(), self.depth_count() as f32 * BOX_HEIGHT + 4.0);
        let (area, response) = ui.allocate_exact_size(size, Sense::click());
        let label = format!("Flame graph of {}", self.whole);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, label.clone()));
        let painter = ui.painter_at(area);
        let pointed = response.hover_pos().and_then(|at| self.at(area, at));
        let clip = ui.clip_rect();
        for depth in 0..self.depth_count() {
            let top = area.top() + depth as f32 * BOX_HEIGHT;
            if top > clip.bottom() || top + BOX_HEIGHT < clip.top() {
                continue;
            }
            // Adjacent boxes that are too narrow are drawn as one grey stretch, so that they do not look like a gap.
            let mut narrow: Option<Rect> = None;
            let fill = |rect: Rect| painter.rect_filled(rect, 0.0, theme::flame_rest(ui.visuals()));
            for (i, one) in self.row(depth) {
                let rect = Self::rect(area, top, one);
                if rect.width() < DRAWN_FROM {
                    let touching = narrow.filter(|before| rect.left() - before.right() < 0.1);
                    if touching.is_none() {
                        narrow.take().map(fill);
                    }
                    narrow = Some(touching.map_or(rect, |before| before.union(rect)));
                    continue;
                }
                narrow.take().map(fill);
                self.draw_box(ui, &painter, rect, depth, one, pointed == Some((depth, i)));
            }
            narrow.map(fill);
        }
        let (depth, index) = pointed.or_else(|| ui.data(|data| data.get_temp(response.id)))?;
        let one = *self.boxes.get(index)?;
        let mut did = None;
        if let Some(at) = pointed {
            // The menu is about the box that was pointed at when it was opened.
            if !response.context_menu_opened() {
                ui.data_mut(|data| data.insert_temp(response.id, at));
            }
            response.clone().on_hover_ui_at_pointer(|ui| self.details(ui, &one));
        }
        if response.clicked() {
            did = Some(self.way(depth, index));
        }
        response.context_menu(|ui| did = self.menu(context, ui, depth, index, &one).or(did.take()));
        did
    }

    fn row(&self, depth: usize) -> impl Iterator<Item = (usize, &FlameBox)> {
        let range = self.depths[depth]..self.depths[depth + 1];
        range.clone().zip(&self.boxes[range])
    }

    fn rect(area: Rect, top: f32, one: &FlameBox) -> Rect {
        let left = area.left() + one.left * area.width();
        Rect::from_min_size(pos2(left, top), vec2(one.width * area.width(), BOX_HEIGHT))
    }

    /// Depth and index of the box at a point.
    fn at(&self, area: Rect, at: egui::Pos2) -> Option<(usize, usize)> {
        let depth = ((at.y - area.top()) / BOX_HEIGHT).floor();
        if depth < 0.0 || depth as usize >= self.depth_count() {
            return None;
        }
        let (depth, x) = (depth as usize, (at.x - area.left()) / area.width());
        let row = &self.boxes[self.depths[depth]..self.depths[depth + 1]];
        let behind = row.partition_point(|one| one.left <= x);
        let index = behind.checked_sub(1)?;
        (x <= row[index].left + row[index].width).then_some((depth, self.depths[depth] + index))
    }

    fn draw_box(&self, ui: &Ui, painter: &egui::Painter, rect: Rect, depth: usize, one: &FlameBox, is_pointed: bool) {
        let mut fill = self.color(ui.visuals(), one);
        let is_around = depth < self.focus.len();
        if (self.is_searched && !one.is_found) || is_around {
            fill = fill.gamma_multiply(0.35);
        }
        let rect = rect.shrink2(vec2(if rect.width() > 3.0 { 0.5 } else { 0.0 }, 0.5));
        painter.rect_filled(rect, if rect.width() > 8.0 { 2.0 } else { 0.0 }, fill);
        if is_pointed {
            painter.rect_stroke(rect, 2.0, egui::Stroke::new(1.5, ui.visuals().strong_text_color()), egui::StrokeKind::Inside);
        }
        if rect.width() >= NAMED_FROM {
            let text = self.label(one);
            let is_weak = is_around || one.smaller > 0;
            let color = if is_weak { ui.visuals().weak_text_color() } else { theme::on_flame(ui.visuals()) };
            let mut job = egui::text::LayoutJob::simple_singleline(text, FontId::proportional(11.5), color);
            job.wrap = egui::text::TextWrapping::truncate_at_width(rect.width() - 6.0);
            let galley = painter.layout_job(job);
            painter.galley(pos2(rect.left() + 4.0, rect.center().y - galley.size().y / 2.0), galley, color);
        }
    }

    /// The colour of a box: one colour per module; if widths are changes, shrinkage is green.
    pub(super) fn color(&self, visuals: &Visuals, one: &FlameBox) -> Color32 {
        if one.smaller > 0 {
            return theme::flame_rest(visuals);
        }
        if self.measure.less().is_some() && one.net < 0 {
            return theme::flame_shrinkage(visuals);
        }
        match one.key {
            NodeKey::All => visuals.widgets.inactive.weak_bg_fill,
            NodeKey::Function(function) => match self.functions.module(function) {
                Some(module) => self.color_of(self.functions.module_name(module), visuals),
                None => visuals.widgets.inactive.bg_fill,
            },
            _ => visuals.widgets.inactive.bg_fill,
        }
    }

    /// The colour of a module; a neutral one if it has none of its own.
    fn color_of(&self, module: &str, visuals: &Visuals) -> Color32 {
        self.modules.number(module).map_or(visuals.widgets.inactive.bg_fill, |number| theme::flame(number, visuals))
    }

    /// The meanings of the colours: modules, and shrinkage if widths are changes.
    pub(super) fn meanings(&self, visuals: &Visuals) -> Vec<(&str, Color32)> {
        let others = self.modules.has_others.then_some(("other modules", visuals.widgets.inactive.bg_fill));
        let shrinkage = self.measure.less().map(|less| (less, theme::flame_shrinkage(visuals)));
        let modules = self.modules.all().map(|(name, number)| (name, theme::flame(number, visuals)));
        shrinkage.into_iter().chain(modules).chain(others).collect()
    }

    /// Draws the meanings of the colours.
    fn legend(&self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(4.0, 2.0);
            for (name, color) in self.meanings(ui.visuals()) {
                let text =
                    ui.painter().layout_no_wrap(name.to_owned(), FontId::proportional(11.5), ui.visuals().weak_text_color());
                // A name stands beside its square, not below it.
                if ui.available_size_before_wrap().x < 14.0 + text.size().x {
                    ui.end_row();
                }
                let (square, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
                ui.painter().rect_filled(square, 2.0, color);
                ui.add(egui::Label::new(text).extend());
                ui.add_space(6.0);
            }
        });
    }

    fn name(&self, key: NodeKey) -> String {
        match key {
            NodeKey::All => self.whole.to_string(),
            key => node_name(&self.functions, key),
        }
    }

    /// The name without the module, which the colour shows; the full name if the function has none of its own.
    fn short_name(&self, key: NodeKey) -> String {
        match key {
            NodeKey::Function(function) => match self.functions.name(function) {
                FrameName::Function(_, name) => name.to_owned(),
                name => name.to_string(),
            },
            _ => self.name(key),
        }
    }

    /// The text in a box.
    pub(super) fn label(&self, one: &FlameBox) -> String {
        if one.smaller > 0 { Self::smaller(one) } else { self.short_name(one.key) }
    }

    /// The full name of a box.
    pub(super) fn text(&self, one: &FlameBox) -> String {
        match one.smaller {
            0 => self.name(one.key),
            _ => format!("{} of {}", Self::smaller(one), self.name(one.key)),
        }
    }

    fn details(&self, ui: &mut Ui, one: &FlameBox) {
        ui.strong(self.text(one));
        let whole = self.boxes.first().map_or(0, |all| all.net.unsigned_abs());
        let Measure { label, unit } = self.measure;
        let share = if self.measure.less().is_some() || whole == 0 {
            String::new()
        } else {
            format!(", {} of all", format::percent(one.net.unsigned_abs() as f64 / whole as f64))
        };
        ui.label(format!("{label}: {}{share}", unit.value(one.net)));
        if let Unit::Samples(sampled) = unit {
            ui.label(sampled.time(one.net));
            if sampled.tells_own && one.smaller == 0 {
                ui.label(format!("In the function itself: {}", format::count(one.own.unsigned_abs())));
            }
        }
        if one.smaller > 0 {
            ui.weak("Click to show only what they are in");
        } else if one.key != NodeKey::All {
            ui.weak("Click to show only this");
        }
    }

    /// The label of boxes that are too narrow to be drawn, taken together.
    fn smaller(one: &FlameBox) -> String {
        format!("{} smaller", format::count(one.smaller.into()))
    }

    /// The names from the top down to a box; for boxes that are too narrow, down to the box around them.
    fn way(&self, depth: usize, index: usize) -> Way {
        let mut way = self.focus.clone();
        let depth = depth - usize::from(self.boxes.get(index).is_some_and(|one| one.smaller > 0));
        if depth <= way.len() {
            way.truncate(depth);
            return way;
        }
        // The boxes around it, from the focus inwards.
        let Some(one) = self.boxes.get(index) else { return way };
        let middle = one.left + one.width / 2.0;
        for depth in self.focus.len() + 1..=depth {
            let row = &self.boxes[self.depths[depth]..self.depths[depth + 1]];
            let behind = row.partition_point(|other| other.left <= middle);
            let Some(context) = behind.checked_sub(1).map(|i| &row[i]) else { break };
            way.push(self.name(context.key).into());
        }
        way
    }

    fn menu(&self, context: &mut ViewContext<'_>, ui: &mut Ui, depth: usize, index: usize, one: &FlameBox) -> Option<Way> {
        let mut did = None;
        if let NodeKey::Function(function) = one.key
            && one.smaller == 0
        {
            let name = self.functions.name(function).to_string();
            ui.strong(&name);
            let what = Predicate::Function(name.as_str().into());
            if let Unit::Samples(_) = self.measure.unit {
                // Filters apply to memory that the function may have allocated, not to its samples.
                context.offer_filters(ui, "memory of this function", what);
            } else {
                context.offer_filters(ui, "this function", what);
                context.offer_rules(ui, &name);
            }
        }
        if ui.button("Show only this").clicked() {
            did = Some(self.way(depth, index));
        }
        if ui.button("Copy stack").clicked() {
            let way: Vec<String> = self.way(depth, index).iter().map(ToString::to_string).collect();
            context.commands.push(Command::Copy(way.join("\n")));
        }
        ui.separator();
        for format in PictureFormat::ALL {
            if let Some(view) = context.document.view_in_sight()
                && ui.button(format.label()).clicked()
            {
                let subject = Subject::View(view);
                context.commands.push(Command::TakePicture(PictureRequest { subject, format }));
            }
        }
        did
    }
}
