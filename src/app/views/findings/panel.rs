//! The cards and the list of findings.

use std::sync::Arc;

use eframe::egui::{self, Color32, CornerRadius, FontId, RichText, Sense, Ui, Visuals, vec2};

use super::Findings;
use crate::app::base::table::TableSource;
use crate::app::base::theme;
use crate::app::commands::{Command, DocCommand};
use crate::app::document::Document;
use crate::app::services::accepted::AcceptChange;
use crate::app::state::filters::Filters;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::views::{Pane, Pointed, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::source_lines;
use crate::limits::{Accepted, Baseline};
use crate::query::{Finding, FindingKind, headlines};

/// Most cards above the tabs.
const CARDS: usize = 5;

const CARD_HEIGHT: f32 = 56.0;

/// Innermost frames that the list shows of a place.
const FRAMES: usize = 4;

fn color(kind: FindingKind, visuals: &Visuals) -> Color32 {
    let line = match kind {
        FindingKind::Growth => return theme::growth(visuals),
        FindingKind::Step => 0,
        FindingKind::Spikes => 4,
        FindingKind::Peak => 5,
        FindingKind::AtExit => 1,
        FindingKind::Churn => 2,
        FindingKind::UnexplainedCommit => 7,
        FindingKind::Fragmentation => 3,
        FindingKind::Habit => 6,
    };
    theme::series(line, visuals)
}

impl Pane for Findings {
    fn forget(&mut self) {
        (self.found, self.filtered) = (None, None);
    }

    fn accept(&mut self, accepted: &Arc<Baseline>) {
        self.accepted = Arc::clone(accepted);
        self.found.iter_mut().chain(&mut self.filtered).for_each(|found| found.judge(accepted));
    }

    fn findings(&self, document: &Document) -> &[Finding] {
        self.now(document).map_or(&[], |found| &found.list)
    }

    fn lacks(&self, document: &Document) -> Option<&'static str> {
        let found = self.now(document)?;
        let is_empty = found.list.is_empty() && found.accepted.is_empty() && found.silent.is_empty();
        is_empty.then_some("Nothing stands out")
    }

    fn findings_in_all(&self) -> &[Finding] {
        self.found.as_ref().map_or(&[], |found| &found.list)
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        let found = if self.filters.is_all() { &self.found } else { &self.filtered };
        let found = found.as_ref().filter(|found| found.of.scope.filters == self.filters)?;
        Some(Arc::clone(&found.table) as Arc<dyn TableSource>)
    }

    fn filtered(&mut self, filters: &Filters) {
        self.filters = filters.clone();
    }

    /// Draws the best findings, side by side; without room for that, the first one in a line.
    fn strip(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui, is_roomy: bool) {
        if self.is_hidden {
            return;
        }
        let Some(found) = self.now(context.document) else {
            // If there are findings in all rows, cards may follow: their space stays free, so that the tabs do not jump.
            if self.found.as_ref().is_some_and(|found| !found.list.is_empty()) {
                let room = vec2(ui.available_width(), if is_roomy { CARD_HEIGHT } else { 0.0 });
                ui.allocate_ui(room, |ui| context.wait(ui));
            }
            return;
        };
        if found.list.is_empty() {
            return;
        }
        if !is_roomy {
            in_a_line(&found.list, context, ui);
            return;
        }
        let best = headlines(&found.list, CARDS);
        let (count, mut is_hidden) = (best.len(), false);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let room = ui.available_width() - 18.0;
            let width = (room - 6.0 * count as f32) / count as f32;
            for finding in best {
                let card = card(ui, finding, vec2(width.max(80.0), CARD_HEIGHT));
                point_at(&card, finding, context);
                let shows = card.clicked() | menu(&card, finding, context);
                if shows {
                    go_to(finding, context);
                }
            }
            let cross =
                ui.add(egui::Button::new("\u{d7}").frame(false)).on_hover_text("Hide these; the tab Findings has them all");
            cross.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Hide findings"));
            is_hidden = cross.clicked();
        });
        self.is_hidden = is_hidden;
    }

    /// Draws the list of all findings.
    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        let document = context.document;
        let Some(found) = self.now(document) else {
            let text = match (document.answers.failed, document.is_settled()) {
                (true, _) => "Nothing could be computed",
                (_, false) => "Findings are computed when the trace is complete.",
                _ => "Computing\u{2026}",
            };
            centered(ui, RichText::new(text).weak());
            return;
        };
        if found.list.is_empty() && found.accepted.is_empty() {
            let text = match document.filters().is_all() {
                true => "Nothing stands out: no growth, no steps, no spikes.",
                false => "Nothing stands out within the filter: no growth, no steps, no spikes.",
            };
            let all: Vec<&str> = std::iter::once(text).chain(found.silent.iter().map(String::as_str)).collect();
            context.nothing(ui, &all.join("\n"));
            return;
        }
        let mut is_hidden = self.is_hidden;
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            found.silent.iter().for_each(|silent| drop(ui.label(silent)));
            if is_hidden && ui.button("Show the cards above all tabs").clicked() {
                is_hidden = false;
            }
            if !document.filters().is_all() {
                ui.weak("Within the filter");
            }
            if !found.accepted.is_empty() {
                accepted(&found.accepted, context, ui);
            }
            for finding in &found.list {
                line(context, ui, finding);
            }
        });
        self.is_hidden = is_hidden;
    }
}

/// Draws the number of findings and the first of them, where there is no room for cards.
fn in_a_line(all: &[Finding], context: &mut ViewContext<'_>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let words = if all.len() == 1 { "1 finding".to_owned() } else { format!("{} findings", all.len()) };
        let button = ui.button(words).on_hover_text("List them in the tab Findings");
        context.commands.on_click(&button, DocCommand::ShowTab(Tab::View(ViewId::Findings)));
        let Some(finding) = headlines(all, 1).first().copied() else { return };
        let (dot, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
        ui.painter().rect_filled(dot, 2.0, color(finding.kind, ui.visuals()));
        let label = ui.add(
            egui::Label::new(RichText::new(&finding.text).size(12.5))
                .truncate()
                .show_tooltip_when_elided(false)
                .sense(Sense::click()),
        );
        label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Finding {}", finding.text)));
        let label = label.on_hover_ui(|ui| details(ui, finding)).on_hover_cursor(egui::CursorIcon::PointingHand);
        point_at(&label, finding, context);
        if label.clicked() | menu(&label, finding, context) {
            go_to(finding, context);
        }
    });
}

/// Draws the menu of a finding that is drawn above the tabs; returns whether it is to be shown.
fn menu(of: &egui::Response, finding: &Finding, context: &mut ViewContext<'_>) -> bool {
    let mut shows = false;
    of.context_menu(|ui| {
        shows = ui.button("Show").on_hover_text(SHOW).clicked();
        if ui.button(ACCEPT).on_hover_text(ACCEPT_HINT).clicked() {
            accept(finding, context);
        }
        copy(finding, context, ui);
    });
    shows
}

fn card(ui: &mut Ui, finding: &Finding, size: egui::Vec2) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Finding {}", finding.text)));
    let visuals = ui.visuals();
    let fill = if response.hovered() { visuals.widgets.hovered.weak_bg_fill } else { visuals.faint_bg_color };
    ui.painter().rect(rect, 5.0, fill, visuals.widgets.noninteractive.bg_stroke, egui::StrokeKind::Inside);
    let edge = egui::Rect::from_min_size(rect.min, vec2(4.0, rect.height()));
    let corners = CornerRadius { nw: 5, sw: 5, ne: 0, se: 0 };
    ui.painter().rect_filled(edge, corners, color(finding.kind, visuals));
    let inner = rect.shrink2(vec2(8.0, 5.0)).translate(vec2(3.0, 0.0));
    let painter = ui.painter_at(rect);
    let color = visuals.strong_text_color();
    let mut job = egui::text::LayoutJob::simple(finding.text.clone(), FontId::proportional(12.5), color, inner.width());
    job.wrap.max_rows = 3;
    let text = painter.layout_job(job);
    painter.galley(inner.min, text, color);
    response.on_hover_ui(|ui| details(ui, finding)).on_hover_cursor(egui::CursorIcon::PointingHand)
}

/// Tooltip of the button that goes to a finding.
const SHOW: &str = "Go there: interval, filter and stack";
/// Label and tooltip of the button that accepts a finding.
const ACCEPT: &str = "Accept\u{2026}";
const ACCEPT_HINT: &str = "A known finding: hide it until it grows";

/// Goes to the interval, heap and stack of a finding.
fn go_to(finding: &Finding, context: &mut ViewContext<'_>) {
    context.commands.push(DocCommand::GoToFinding(Box::new(finding.clone())));
}

/// Notes that the pointer is where a click goes to a finding.
fn point_at(of: &egui::Response, finding: &Finding, context: &mut ViewContext<'_>) {
    if of.hovered() {
        context.pointed = Some(Pointed::Finding(Box::new(finding.clone())));
    }
}

/// Asks the user why a finding is accepted.
fn accept(finding: &Finding, context: &mut ViewContext<'_>) {
    let accepted = Accepted::finding(&context.document.trace, finding);
    context.commands.push(Command::OfferToAccept(Some(Box::new(accepted))));
}

/// Adds the menu entry that copies a finding.
fn copy(finding: &Finding, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let button = ui.button("Copy").on_hover_text("The sentence and the stack as text");
    context.commands.on_click(&button, Command::Copy(as_text(finding)));
}

/// A finding as text: the sentence, the frames from the innermost outwards, the doubts.
fn as_text(finding: &Finding) -> String {
    let frames = finding.frames_with_source().map(|frame| format!("    {frame}"));
    let doubts = finding.doubts.iter().map(|doubt| format!("    But: {doubt}."));
    std::iter::once(format!("{}.", finding.text)).chain(frames).chain(doubts).collect::<Vec<_>>().join("\n")
}

/// Draws the tooltip of a finding.
fn details(ui: &mut Ui, finding: &Finding) {
    ui.strong(&finding.text);
    if let Some(function) = &finding.function {
        ui.label(RichText::new(function).monospace().size(12.0));
    }
    for doubt in &finding.doubts {
        ui.weak(doubt);
    }
    ui.weak("Click to go there: interval, filter and stack");
}

/// Draws the accepted findings and the reasons for accepting them.
fn accepted(all: &[(usize, Finding, Accepted)], context: &mut ViewContext<'_>, ui: &mut Ui) {
    let head = if all.len() == 1 { "1 accepted finding".to_owned() } else { format!("{} accepted findings", all.len()) };
    ui.collapsing(head, |ui| {
        for (_, finding, entry) in all {
            ui.horizontal(|ui| {
                let again = ui.small_button("Stop accepting").on_hover_text("Show this finding again");
                again.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Stop accepting {}", finding.text))
                });
                context.commands.on_click(&again, Command::ChangeAccepted(AcceptChange::Forget(Box::new(entry.clone()))));
                ui.add(egui::Label::new(&finding.text).truncate());
            });
            if !entry.reason.is_empty() {
                ui.indent("reason", |ui| ui.add(egui::Label::new(RichText::new(&entry.reason).weak()).truncate()));
            }
        }
    });
}

/// Draws one finding with its place in the code and the doubts about it.
fn line(context: &mut ViewContext<'_>, ui: &mut Ui, finding: &Finding) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let (dot, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(dot, 3.0, color(finding.kind, ui.visuals()));
        let show = ui.small_button("Show").on_hover_text(SHOW);
        show.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Show {}", finding.text)));
        point_at(&show, finding, context);
        if show.clicked() {
            go_to(finding, context);
        }
        let button = ui.small_button(ACCEPT).on_hover_text(ACCEPT_HINT);
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Accept {}", finding.text)));
        if button.clicked() {
            accept(finding, context);
        }
        let text = egui::Label::new(RichText::new(&finding.text).strong()).truncate();
        let text = ui.add(text.sense(Sense::click()));
        text.context_menu(|ui| copy(finding, context, ui));
        source_lines::on_click(text, finding.source.as_ref(), context.commands);
    });
    ui.indent("finding", |ui| {
        let way: Vec<&str> = finding.stack.iter().rev().take(FRAMES).map(String::as_str).collect();
        if !way.is_empty() {
            let way = RichText::new(way.join("  \u{2039}  ")).monospace().size(11.5).weak();
            ui.add(egui::Label::new(way).truncate().show_tooltip_when_elided(false)).on_hover_ui(|ui| {
                for frame in finding.stack.iter().rev() {
                    ui.label(RichText::new(frame).monospace().size(12.0));
                }
            });
        }
        for doubt in &finding.doubts {
            ui.add(egui::Label::new(RichText::new(doubt).weak()).truncate());
        }
    });
}
