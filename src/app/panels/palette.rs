//! The command palette: type some letters of a command, choose with the arrow keys, run it with Enter.
//! A disabled command is faint and shows the reason in place of its key.

use std::cmp::Reverse;

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, Color32, FontId, Key, Modifiers, Sense, Ui, WidgetInfo, vec2};

use super::command_table as table;
use super::command_table::{Entry, Switch};
use super::context::PanelContext;
use crate::app::commands::{Command, Commands, Hit, find, keys};
use crate::app::state::palette::Palette;

const LINE: f32 = 26.0;

/// A command as the palette shows it.
struct Item {
    /// Its words, with the submenu that contains it.
    words: String,
    entry: Entry,
}

pub fn show(context: &mut PanelContext<'_>, ctx: &egui::Context) {
    let Some(palette) = context.palette else { return };
    let items = items(context);
    let found = found(&palette.typed, &items);
    let mut next = palette.clone();
    next.chosen = moved(palette.chosen, found.len(), ctx);
    let mut given = None;
    if ctx.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Enter)) {
        given = found.get(next.chosen).map(|(item, _)| *item);
    }
    let screen = ctx.content_rect();
    let id = egui::Id::unique("palette");
    let area = egui::Modal::default_area(id).anchor(egui::Align2::CENTER_TOP, vec2(0.0, screen.height() * 0.12));
    let dialog = egui::Modal::new(id).area(area).show(ctx, |ui| {
        ui.set_width(600.0f32.min(screen.width() - 40.0));
        if field(&mut next.typed, ui) {
            next.chosen = 0;
        }
        ui.add_space(2.0);
        let is_moved = next.chosen != palette.chosen;
        // As high as its lines, whatever the list before it was.
        let height = (found.len().max(1) as f32 * LINE).min(screen.height() * 0.6).max(LINE);
        egui::ScrollArea::vertical().max_height(height).min_scrolled_height(height).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (place, (item, hit)) in found.iter().enumerate() {
                let response = line(&items[*item], hit, place == next.chosen, ui);
                if place == next.chosen && is_moved {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    given = Some(*item);
                }
            }
            if found.is_empty() {
                ui.add_space(6.0);
                ui.weak("No command matches");
            }
        });
    });
    let is_escaped = ctx.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Escape));
    let given = given.and_then(|item| items.into_iter().nth(item)?.entry.command.ok());
    give(given, is_escaped || dialog.backdrop_response.clicked(), next, context);
}

/// Runs the chosen command, closes the palette, or keeps the typed text.
fn give(given: Option<Command>, is_closed: bool, next: Palette, context: &mut PanelContext<'_>) {
    let commands: &mut Commands = context.commands;
    if let Some(command) = given {
        // The palette is closed first, because the command may open it again.
        commands.push(Command::ShowPalette(None));
        commands.push(command);
    } else if is_closed {
        commands.push(Command::ShowPalette(None));
    } else if context.palette != Some(&next) {
        commands.push(Command::ShowPalette(Some(next)));
    }
}

fn items(context: &PanelContext<'_>) -> Vec<Item> {
    let sections = table::sections(context).into_iter();
    let items = sections.flat_map(|section| {
        let named = move |entry: Entry| {
            let words =
                if section.title.is_empty() { entry.words.to_string() } else { format!("{}: {}", section.title, entry.words) };
            Item { words, entry }
        };
        section.entries.into_iter().map(named)
    });
    items.collect()
}

/// The items that fit the typed text, best first.
fn found(typed: &str, items: &[Item]) -> Vec<(usize, Hit)> {
    let mut found = find(typed, items.iter().map(|item| (&*item.words, item.entry.also)));
    found.sort_by_key(|(item, hit)| {
        let Entry { command, switch, .. } = &items[*item].entry;
        Reverse(hit.score(command.is_ok(), *switch == Switch::Box(true)))
    });
    found
}

/// The selected line after the keys of this frame.
fn moved(chosen: usize, count: usize, ctx: &egui::Context) -> usize {
    let pressed = |key| ctx.input_mut(|i| i.count_and_consume_key(Modifiers::NONE, key)) as isize;
    let by: isize = keys::STEPS.into_iter().map(|(key, by)| by.clamp(-10, 10) * pressed(key)).sum();
    chosen.saturating_add_signed(by).min(count.saturating_sub(1))
}

/// The search field; returns whether it was changed.
fn field(typed: &mut String, ui: &mut Ui) -> bool {
    let field = egui::TextEdit::singleline(typed).id(egui::Id::unique("palette field")).font(FontId::proportional(16.0));
    let field = ui.add(field.hint_text("Type a command").desired_width(f32::INFINITY).margin(vec2(8.0, 6.0)));
    field.widget_info(|| WidgetInfo::labeled(egui::Role::TextInput, true, "Command"));
    field.request_focus(); // nothing else takes keys while the palette is open
    field.changed()
}

fn line(item: &Item, hit: &Hit, is_chosen: bool, ui: &mut Ui) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::click());
    let is_possible = item.entry.command.is_ok();
    response.widget_info(|| WidgetInfo::selected(egui::Role::Button, is_possible, is_chosen, format!("Command {}", item.words)));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let visuals = ui.visuals();
    if is_chosen {
        ui.painter().rect_filled(rect, 4.0, visuals.selection.bg_fill.gamma_multiply(0.8));
    } else if response.hovered() {
        ui.painter().rect_filled(rect, 4.0, visuals.widgets.hovered.weak_bg_fill.gamma_multiply(0.6));
    }
    let faint = visuals.weak_text_color();
    let color = if is_possible { visuals.text_color() } else { faint };
    let right = ui.painter().layout_no_wrap(beside(&item.entry), FontId::proportional(12.5), faint);
    let inner = rect.shrink2(vec2(8.0, 0.0));
    let room = inner.width() - right.size().x - 16.0;
    let at = |height: f32| rect.center().y - height / 2.0;
    ui.painter().galley(egui::pos2(inner.right() - right.size().x, at(right.size().y)), right, faint);
    let lit = if is_possible { visuals.strong_text_color() } else { faint };
    let words = ui.painter().layout_job(lit_words(&item.words, &hit.met, room, color, lit));
    ui.painter().galley(egui::pos2(inner.left(), at(words.size().y)), words, color);
    if item.entry.hint.is_empty() { response } else { response.on_hover_text(item.entry.hint) }
}

/// The text at the right: the reason against it, its state, and its key.
fn beside(entry: &Entry) -> String {
    if let Err(reason) = entry.command {
        return reason.to_owned();
    }
    let state = match entry.switch {
        Switch::Box(true) => "on",
        Switch::Box(false) => "off",
        Switch::Choice(true) => "chosen",
        Switch::Choice(false) | Switch::None => "",
    };
    let key = keys::first(entry.keys);
    [state, &key].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("   ")
}

/// The words with the matching characters highlighted.
fn lit_words(words: &str, met: &[usize], room: f32, color: Color32, lit: Color32) -> LayoutJob {
    let font = FontId::proportional(14.0);
    let wrap = egui::text::TextWrapping::truncate_at_width(room.max(0.0));
    let mut job = LayoutJob { wrap, ..LayoutJob::default() };
    for (i, c) in words.chars().enumerate() {
        let is_met = met.binary_search(&i).is_ok();
        let mut format = TextFormat::simple(font.clone(), if is_met { lit } else { color });
        if is_met {
            format.underline = egui::Stroke::new(1.0, lit);
        }
        job.append(c.encode_utf8(&mut [0; 4]), 0.0, format);
    }
    job
}
