//! The parts of an open trace as tiles: their contents, and the look of their edges and tabs. The
//! [`Layout`](crate::app::state::layout::Layout) arranges them. Which tabs are visible and which has the keys
//! follows from the user's actions, and is sent to the document as a command.

use eframe::egui::{self, Color32, CursorIcon, Id, Rect, Response, Sense, Stroke, Ui, Visuals, WidgetText, pos2, vec2};
use egui_tiles::{Behavior, ResizeState, SimplificationOptions, TabState, Tabs, Tile, TileId, Tiles, UiResponse};

use super::context::PanelContext;
use super::{overview, sources, symbols_tab, timeline, toolbar, trace_tab, with_view, with_views};
use crate::app::commands::{Command, DocCommand};
use crate::app::services::picture::{self, Subject};
use crate::app::state::ids::Tab;
use crate::app::state::layout::{FRAMES, Part, SIMPLE};

/// Minimum width and height of a part.
const SMALLEST: f32 = 110.0;

/// Minimum height for headlines below the graph.
const ROOMY: f32 = 340.0;

/// Height of the line that stands for them where there is no room for more.
const LINE: f32 = 24.0;

/// Minimum width for a table's own tools, search and export in one row; with less, the tools wrap.
const ONE_ROW: f32 = 520.0;

/// Most tabs that are all shown in a row; of more the less frequent ones are behind *More*.
const IN_A_ROW: usize = 8;

/// Margin around the contents of a part.
const MARGIN: f32 = 6.0;

/// Draws all parts.
pub fn show(context: &mut PanelContext<'_>, ui: &mut Ui) {
    context.layout.fit(ui.available_size());
    let in_sight = context.layout.in_sight();
    let mut tree = context.layout.take_tree();
    if let Some(document) = context.document {
        context.layout.keep(document.tab);
        let recent = context.layout.recent;
        let mut show = |tab: Tab| {
            let Some(id) = tree.tiles.find_pane(&Part::Tab(tab)) else { return };
            let has_place = match is_crowded(&tree.tiles, id) {
                true => tab.is_main() || recent == Some(tab) && document.offers(tab),
                false => document.offers(tab),
            };
            tree.set_visible(id, has_place || tab == document.tab || in_sight.contains(&tab));
        };
        Tab::all().for_each(&mut show);
    }
    let dropped = tree.dragged_id(ui.ctx()).filter(|_| ui.input(|input| input.pointer.any_released()));
    let bare = [Part::Sources, Part::Graph].map(|part| tree.tiles.find_pane(&part));
    let reveal = context.layout.reveal.take();
    let mut parts = Parts { context, bare, pressed: None, reveal };
    tree.ui(&mut parts, ui);
    let Parts { pressed, reveal, .. } = parts;
    context.layout.tree = tree;
    dropped.into_iter().for_each(|dropped| context.layout.settle(dropped));
    context.layout.reveal = reveal;
    let Some(document) = context.document else { return };
    let in_sight = context.layout.in_sight();
    let wanted = pressed.unwrap_or(document.tab);
    let tab = match in_sight.contains(&wanted) {
        true => wanted,
        // Another tab was brought in front of it.
        false => in_sight
            .iter()
            .copied()
            .find(|tab| !document.in_sight().contains(tab))
            .or(in_sight.first().copied())
            .unwrap_or(wanted),
    };
    if tab != document.tab {
        context.commands.push(DocCommand::ShowTab(tab));
    } else if in_sight != document.in_sight() {
        context.commands.push(Command::LookAgain);
    }
}

/// Whether a tab shares its row with so many others that the less frequent ones are behind *More*.
fn is_crowded(tiles: &Tiles<Part>, tab: TileId) -> bool {
    let row = tiles.parent_of(tab).and_then(|row| tiles.get_container(row));
    row.is_some_and(|row| row.num_children() > IN_A_ROW)
}

struct Parts<'a, 'b> {
    context: &'a mut PanelContext<'b>,
    /// The parts without a tab while they stand alone.
    bare: [Option<TileId>; 2],
    /// The tab in which the user pressed a mouse button.
    pressed: Option<Tab>,
    /// The tab to scroll into view, until it is visible or its frames are used up.
    reveal: Option<(Tab, u8)>,
}

impl Parts<'_, '_> {
    fn tab(&mut self, ui: &mut Ui, tab: Tab) {
        let context = &mut *self.context;
        match tab {
            Tab::View(view) => {
                if ui.available_width() >= ONE_ROW {
                    ui.horizontal(|ui| {
                        with_view(context, view, |view, around| view.tools(around, ui));
                        toolbar::of_table(context, view, ui);
                    });
                } else {
                    ui.horizontal_wrapped(|ui| with_view(context, view, |view, around| view.tools(around, ui)));
                    ui.horizontal(|ui| toolbar::of_table(context, view, ui));
                }
                let (frame, place) = (picture::Frame::begin(ui, Subject::View(view)), ui.available_rect_before_wrap());
                with_view(context, view, |view, around| view.show(around, ui));
                frame.end(ui, place);
            }
            Tab::Symbols => symbols_tab::show(context, ui),
            Tab::Trace => trace_tab::show(context, ui),
        }
    }

    fn graph(&mut self, ui: &mut Ui) {
        let is_roomy = ui.available_height() >= ROOMY;
        let (name, highest) = if is_roomy { ("headlines", 90.0) } else { ("headlines in a line", LINE) };
        let panel = egui::Panel::bottom(name).frame(egui::Frame::NONE).show_separator_line(false);
        panel.resizable(false).size_range(0.0..=highest).show(ui, |ui| {
            with_views(self.context, |views, around| views.strip(around, ui, is_roomy));
        });
        overview::show(self.context, ui);
        timeline::show(self.context, ui);
    }

    /// Why a tab has nothing to show, if that is known.
    fn lacks(&self, tab: Tab) -> Option<&'static str> {
        let document = self.context.document?;
        let view = if let Tab::View(view) = tab { self.context.views.as_ref()?.get(view) } else { None };
        document.lacks(tab).or_else(|| view?.lacks(document))
    }

    /// Whether the search and the keys go to this part.
    fn has_keys(&self, part: Part) -> bool {
        self.context.document.is_some_and(|document| Part::Tab(document.tab) == part)
    }
}

impl Behavior<Part> for Parts<'_, '_> {
    fn pane_ui(&mut self, ui: &mut Ui, _: TileId, part: &mut Part) -> UiResponse {
        let outer = ui.max_rect();
        if let Part::Tab(tab) = *part
            && ui.input(|i| i.pointer.any_pressed())
            && ui.rect_contains_pointer(outer)
        {
            self.pressed = Some(tab);
        }
        let inside = outer.shrink2(vec2(MARGIN, 3.0));
        let mut inner = ui.new_child(egui::UiBuilder::new().max_rect(inside).id_salt(part.title()));
        inner.set_clip_rect(outer.intersect(ui.clip_rect()));
        match *part {
            Part::Sources => sources::show(self.context, &mut inner),
            Part::Graph => self.graph(&mut inner),
            Part::Tab(tab) => self.tab(&mut inner, tab),
        }
        match part {
            Part::Sources | Part::Graph if grip(ui, *part, outer).drag_started() => UiResponse::DragStarted,
            _ => UiResponse::None,
        }
    }

    fn tab_title_for_pane(&mut self, part: &Part) -> WidgetText {
        part.title().into()
    }

    /// For parts side by side in one tab: their names.
    fn tab_title_for_tile(&mut self, tiles: &Tiles<Part>, id: TileId) -> WidgetText {
        fn names(tiles: &Tiles<Part>, id: TileId) -> Vec<&'static str> {
            match tiles.get(id) {
                Some(Tile::Pane(part)) => vec![part.title()],
                Some(Tile::Container(container)) => {
                    container.active_children(tiles).flat_map(|child| names(tiles, child)).collect()
                }
                None => Vec::new(),
            }
        }
        names(tiles, id).join(" + ").into()
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<Part>, id: TileId, response: Response) -> Response {
        let Some(Part::Tab(tab)) = tiles.get_pane(&id).copied() else { return response };
        let response = if let Some(reason) = self.lacks(tab) { response.on_hover_text(reason) } else { response };
        if response.clicked() {
            (self.pressed, self.reveal) = (Some(tab), Some((tab, FRAMES)));
        }
        let Some((_, frames)) = self.reveal.filter(|(wanted, _)| *wanted == tab) else { return response };
        let is_cut = response.interact_rect.width() < response.rect.width() - 1.0;
        self.reveal = frames.checked_sub(1).filter(|_| is_cut).map(|frames| (tab, frames));
        if self.reveal.is_some() {
            response.scroll_to_me_animation(None, egui::style::ScrollAnimation::none());
            response.ctx.request_repaint();
        }
        response
    }

    /// Draws *More*, the menu of the tabs that have no place in their row.
    fn top_bar_right_ui(&mut self, tiles: &Tiles<Part>, ui: &mut Ui, _: TileId, tabs: &Tabs, _: &mut f32) {
        let tab = |id: &TileId| if let Some(Part::Tab(tab)) = tiles.get_pane(id) { Some(*tab) } else { None };
        let hidden: Vec<Tab> = tabs.children.iter().filter(|&&id| !tiles.is_visible(id)).filter_map(tab).collect();
        if hidden.is_empty() || tabs.children.len() <= IN_A_ROW {
            return;
        }
        let more = ui.menu_button("More\u{2026}", |ui| {
            for tab in hidden {
                let lacks = self.lacks(tab);
                let text = egui::RichText::new(tab.title());
                let text = if lacks.is_some() { text.weak() } else { text };
                let button = ui.add(egui::Button::new(text).shortcut_text(lacks.unwrap_or_default()));
                button.widget_info(|| {
                    let info = egui::WidgetInfo::labeled(egui::Role::Button, true, tab.title());
                    egui::WidgetInfo { current_text_value: lacks.map(str::to_owned), ..info }
                });
                if button.clicked() {
                    self.reveal = Some((tab, FRAMES));
                    self.context.commands.push(DocCommand::ShowTab(tab));
                }
            }
        });
        more.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "More tabs"));
        more.response.on_hover_text("Other tabs; those without data in this trace are dimmed");
    }

    fn is_tab_bar_visible(&self, _: TileId, tabs: &Tabs) -> bool {
        !matches!(tabs.children[..], [only] if self.bare.contains(&Some(only)))
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SIMPLE
    }

    fn min_size(&self) -> f32 {
        SMALLEST
    }

    fn gap_width(&self, _: &egui::Style) -> f32 {
        1.0
    }

    fn tab_bar_height(&self, style: &egui::Style) -> f32 {
        style.spacing.interact_size.y + 6.0
    }

    fn cycle_tabs_with_keyboard(&self) -> bool {
        false // the keys are those of open traces
    }

    fn resize_stroke(&self, style: &egui::Style, state: ResizeState) -> Stroke {
        match state {
            ResizeState::Idle => style.visuals.widgets.noninteractive.bg_stroke,
            ResizeState::Hovering => style.visuals.widgets.hovered.bg_stroke,
            ResizeState::Dragging => style.visuals.selection.stroke,
        }
    }

    fn tab_bar_color(&self, visuals: &Visuals) -> Color32 {
        visuals.panel_fill
    }

    fn tab_bg_color(&self, visuals: &Visuals, tiles: &Tiles<Part>, id: TileId, state: &TabState) -> Color32 {
        match tiles.get_pane(&id) {
            Some(part) if state.active && self.has_keys(*part) => visuals.selection.bg_fill,
            _ if state.active => visuals.widgets.inactive.bg_fill,
            _ => Color32::TRANSPARENT,
        }
    }

    fn tab_outline_stroke(&self, _: &Visuals, _: &Tiles<Part>, _: TileId, _: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, visuals: &Visuals) -> Stroke {
        visuals.widgets.noninteractive.bg_stroke
    }

    fn tab_text_color(&self, visuals: &Visuals, tiles: &Tiles<Part>, id: TileId, state: &TabState) -> Color32 {
        match tiles.get_pane(&id) {
            Some(part) if state.active && self.has_keys(*part) => visuals.selection.stroke.color,
            _ if state.active => visuals.strong_text_color(),
            Some(Part::Tab(tab)) if self.lacks(*tab).is_some() => visuals.weak_text_color(),
            _ => visuals.text_color(),
        }
    }
}

/// The handle for moving a part without a tab.
fn grip(ui: &Ui, part: Part, outer: Rect) -> Response {
    let name = format!("Move {}", part.title().to_lowercase());
    let rect = Rect::from_min_size(pos2(outer.right() - 15.0, outer.top() + 2.0), vec2(12.0, 12.0));
    let response = ui.interact(rect, Id::unique(("grip", part.title())), Sense::drag()).on_hover_cursor(CursorIcon::Grab);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &name));
    let color = ui.visuals().weak_text_color().gamma_multiply(if response.hovered() { 1.0 } else { 0.45 });
    for (column, row) in (0..2).flat_map(|column| (0..3).map(move |row| (column, row))) {
        let at = rect.center() + vec2(4.0 * column as f32 - 2.0, 4.0 * row as f32 - 4.0);
        ui.painter().circle_filled(at, 1.1, color);
    }
    response.on_hover_text(format!("{name}: drag it to another place"))
}
