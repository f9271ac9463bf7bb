//! The status bar: running work, how far the numbers can be trusted, and the numbers of the selection.

use eframe::egui;

use super::context::PanelContext;
use super::player;
use crate::app::commands::{DocCommand, LoadCommand};
use crate::app::document::Document;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::state::source_list::LayerSum;
use crate::app::widgets::losses;
use crate::format;
use crate::model::CutReason;
use crate::query::{doubts, is_doubt, layer_label};

pub fn show(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    ui.horizontal(|ui| {
        activity(context, ui);
        let Some(document) = context.document else { return };
        let quality = document.trace.quality;
        let doubtful =
            document.is_partial() || document.trace.exact_until().is_some() || quality.problems > 0 || quality.sums_saturate;
        let color = if doubtful { ui.visuals().warn_fg_color } else { ui.visuals().weak_text_color() };
        let line = egui::Label::new(egui::RichText::new(trust(document)).color(color)).sense(egui::Sense::click());
        let all_doubts = |ui: &mut egui::Ui| {
            ui.label("What the trace contains, and its problems");
            doubts(&document.trace, document.trace.span.to).into_iter().for_each(|doubt| _ = ui.label(doubt));
        };
        let lost = quality.events_lost + quality.buffers_lost + quality.superseded_allocations + quality.inferred_frees;
        let only_frees = quality.unmatched_frees > 0 && lost == 0 && !doubtful;
        let tab = if only_frees { Tab::View(ViewId::FreedBefore) } else { Tab::Trace };
        context.commands.on_click(&ui.add(line).on_hover_ui(all_doubts), DocCommand::ShowTab(tab));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let saved = context.saved.map(|name| format!("Saved {name}"));
            let said = saved.or_else(|| context.active_view().and_then(|view| view.says()));
            ui.add(egui::Label::new(said.unwrap_or_else(|| layers(document))).truncate());
        });
    });
}

fn activity(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    let Some(job) = context.loading else {
        if context.document.is_none() {
            ui.weak("Ready");
        } else if context.is_computing {
            ui.weak("Computing\u{2026}");
        } else {
            names(context, ui);
        }
        return;
    };
    if context.scope_choice.is_some() {
        ui.weak("Waiting for a choice");
        return;
    }
    // The start page has its own cancel button, and following a capture is stopped rather than cancelled.
    let has_other = context.document.is_none() || job.is_followed();
    if job.is_followed() {
        player::show_followed(context, ui);
    } else if job.player().is_some() {
        player::show(context, ui);
    } else if context.document.is_some() {
        ui.add(egui::ProgressBar::new(job.progress()).desired_width(140.0).show_percentage());
    }
    if !has_other && ui.button("Cancel").on_hover_text("Stop loading; what is loaded stays").clicked() {
        context.commands.push(LoadCommand::Cancel);
    }
}

/// The progress of resolving names.
fn names(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    let Some(names) = context.document.iter().flat_map(|document| &document.names).find(|names| !names.is_settled()) else {
        return;
    };
    let (done, all) = names.progress();
    let line = egui::Label::new(egui::RichText::new(format!("Names: {done} of {all} modules")).weak());
    let button = ui.add(line.sense(egui::Sense::click())).on_hover_text("List the modules and their symbols");
    context.commands.on_click(&button, DocCommand::ShowTab(Tab::Symbols));
}

/// Impacting Size of each layer, or at an instant the size alive; layers nest, so they are not added up.
fn layers(document: &Document) -> String {
    let is_instant = document.interval().is_empty();
    let text = |sum: &LayerSum| {
        let size = if is_instant { format::bytes(sum.outstanding) } else { format::signed_bytes(sum.impacting) };
        format!("{} {size}", layer_label(sum.layer))
    };
    let layers: Vec<String> = document.source_list.layers.iter().map(text).collect();
    let what = if is_instant { "Alive" } else { "Impacting Size" };
    if layers.is_empty() { String::new() } else { format!("{what}: {}", layers.join(", ")) }
}

/// The words on how far the numbers can be trusted.
fn trust(document: &Document) -> String {
    let quality = &document.trace.quality;
    let mut parts = Vec::new();
    if document.is_partial() {
        parts.push("Only partly loaded".to_owned());
    }
    if let Some(cut) = document.trace.cut {
        let what = match cut.reason {
            CutReason::Memory => "Memory used up",
            CutReason::Numbers => "Too many allocations or frees to count",
        };
        parts.push(format!("{what}: loaded up to {:.3} s", document.trace.clock.seconds(cut.at)));
    }
    if let Some(before) = document.trace.forgotten {
        parts.push(format!("Blocks freed before {:.1} s were dropped", document.trace.clock.seconds(before)));
    }
    if !document.trace.scope.is_all() {
        parts.push("Only a part was loaded".to_owned());
    }
    if document.trace.quality.sums_saturate {
        parts.push("Sums exceed 64 bits".to_owned());
    }
    // Each of these is in the list of problems too.
    let told = u64::from(document.trace.cut.is_some()) + u64::from(document.trace.forgotten.is_some());
    let mut part = |n: u64, one: &str, many: &str| {
        if n > 0 {
            parts.push(format::counted(n, one, many));
        }
    };
    part(quality.events_lost, "event lost", "events lost");
    part(quality.buffers_lost, "buffer lost", "buffers lost");
    part(quality.unmatched_frees, "free without a known allocation", "frees without a known allocation");
    part(quality.superseded_allocations, "block allocated twice", "blocks allocated twice");
    part(quality.inferred_frees, "free matched by its address alone", "frees matched by their address alone");
    part(quality.problems.saturating_sub(told), "problem", "problems");
    if quality.events_lost + quality.buffers_lost == 0 {
        let places = document.trace.losses.len() as u64;
        part(places, "loss of events", "losses of events");
    }
    if parts.is_empty() {
        return "No events lost, all frees matched".to_owned();
    }
    if document.trace.problems.iter().any(|problem| is_doubt(problem.kind)) {
        parts.push("so numbers may be off".to_owned());
    }
    if let Some(until) = losses::exact_until(document) {
        parts.push(format!("numbers after {until:.3} s are incomplete"));
    }
    parts.join(", ")
}
