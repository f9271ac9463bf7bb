//! The contents of the trace: events by kind and provider, quality, and every problem with its place.

use eframe::egui;

use super::context::PanelContext;
use super::providers;
use crate::app::commands::DocCommand;
use crate::app::document::Document;
use crate::app::state::ids::{Tab, ViewId};
use crate::app::widgets::losses;
use crate::format;
use crate::model::Trace;

/// Minimum width for three lists of numbers side by side.
const THREE: f32 = 830.0;

/// Number of problems shown with details.
const SHOWN_PROBLEMS: usize = 12;

pub fn show(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    egui::ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        let Some(document) = context.document else { return };
        let trace = &document.trace;
        if !trace.problems.is_empty() {
            ui.strong("Problems");
            // The first ones are the most important: they concern whole runs of buffers.
            for problem in trace.problems.iter().take(SHOWN_PROBLEMS) {
                let place = if problem.offset > 0 { format!(" at {:#x}", problem.offset) } else { String::new() };
                ui.label(format!("{}{place}: {}", problem.file, problem.detail));
            }
            let more = trace.quality.problems.saturating_sub(SHOWN_PROBLEMS as u64);
            if more > 0 {
                ui.weak(format!("and {} more; highwater info lists them", format::count(more)));
            }
            ui.add_space(8.0);
        }
        losses::list(document, ui);
        providers::show(context, ui);
        let Some(document) = context.document else { return };
        let trace = &document.trace;
        let has_room = ui.available_width() >= THREE;
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                files(document, ui);
                recording(trace, ui);
                quality(trace, ui);
                if trace.quality.unmatched_frees > 0 {
                    let link = ui.link("Show frees without a known allocation");
                    context.commands.on_click(&link, DocCommand::ShowTab(Tab::View(ViewId::FreedBefore)));
                }
                if !has_room {
                    ui.add_space(8.0);
                    memory(trace, ui);
                }
            });
            ui.separator();
            ui.vertical(|ui| events(trace, ui));
            if has_room {
                ui.separator();
                ui.vertical(|ui| memory(trace, ui));
            }
        });
    });
}

fn files(document: &Document, ui: &mut egui::Ui) {
    ui.strong("Files");
    for input in &document.inputs {
        ui.label(input.name());
    }
    let copies = &document.trace.copies;
    for file in copies.iter().filter(|file| file.duplicate_events > 0) {
        let what = match file.copy_of {
            Some(original) => format::repeats(&copies[original].file, file.is_part),
            None => format!("{} events that were recorded more than once", format::count(file.duplicate_events)),
        };
        ui.label(format!("{}: {what}", file.file));
    }
    ui.add_space(8.0);
}

fn recording(trace: &Trace, ui: &mut egui::Ui) {
    ui.strong("Recording");
    egui::Grid::new("recording").num_columns(2).spacing([18.0, 3.0]).show(ui, |ui| {
        for (name, value) in trace.about() {
            ui.label(name);
            ui.label(value);
            ui.end_row();
        }
    });
    ui.add_space(8.0);
}

fn quality(trace: &Trace, ui: &mut egui::Ui) {
    ui.strong("Quality");
    let quality = trace.quality;
    let lines = [
        ("Events lost", quality.events_lost),
        ("Buffers lost", quality.buffers_lost),
        ("Frees without a known allocation", quality.unmatched_frees),
        ("Blocks allocated twice", quality.superseded_allocations),
        ("Frees matched by address alone", quality.inferred_frees),
        ("Problems", quality.problems),
    ];
    let twice = ("Events recorded more than once", quality.duplicate_events);
    let lines: Vec<_> = lines.into_iter().chain((twice.1 > 0).then_some(twice)).collect();
    grid(ui, "quality", &lines);
}

fn events(trace: &Trace, ui: &mut egui::Ui) {
    ui.strong("Events");
    let counts = trace.counts;
    let lines = [
        ("All", counts.total),
        ("Heap allocations", counts.heap_alloc),
        ("Heap frees", counts.heap_free),
        ("Heap reallocations", counts.heap_realloc),
        ("VirtualAlloc", counts.virtual_alloc),
        ("VirtualFree", counts.virtual_free),
        ("Tracker allocations", counts.tracker_alloc),
        ("Tracker frees", counts.tracker_free),
        ("Tracker reallocations", counts.tracker_realloc),
        ("Stacks", counts.stack + counts.inline_stack),
        ("Stack key references", counts.stack_key_ref),
        ("Stack key definitions", counts.stack_key_definition),
        ("Image loads and rundowns", counts.image_load + counts.image_rundown),
        ("Image identities", counts.image_id_rsds),
    ];
    grid(ui, "events", &lines);
}

fn memory(trace: &Trace, ui: &mut egui::Ui) {
    ui.strong("In memory");
    let lines = [
        ("Allocations", trace.rows.len() as u64),
        ("Bytes for allocations", trace.rows.heap_bytes() as u64),
        ("Bytes while loading", trace.load_bytes),
        ("Call sites", trace.sites.len() as u64),
        ("Stack frames", trace.stacks.len() as u64 - 1),
        ("Processes", trace.processes.len() as u64),
        ("Heaps and trackers", trace.heaps.len() as u64),
    ];
    let activity = &trace.activity;
    let methods = activity.managed.processes().into_iter().map(|process| activity.managed.methods(process).len() as u64);
    let others = [
        ("Marks", activity.marks.list.len() as u64),
        ("Frames presented", activity.presents.iter().map(|lane| lane.frames() as u64).sum()),
        (".NET methods", methods.sum()),
        ("CPU samples", activity.samples.list.len() as u64),
    ];
    let lines: Vec<_> = lines.into_iter().chain(others.into_iter().filter(|(_, number)| *number > 0)).collect();
    grid(ui, "memory", &lines);
}

fn grid(ui: &mut egui::Ui, id: &str, lines: &[(&str, u64)]) {
    egui::Grid::new(id).num_columns(2).spacing([18.0, 3.0]).show(ui, |ui| {
        for (name, number) in lines {
            ui.label(*name);
            let (rect, _) = ui.allocate_exact_size(egui::vec2(96.0, ui.spacing().interact_size.y), egui::Sense::hover());
            let layout = egui::Layout::right_to_left(egui::Align::Center);
            ui.scope_builder(egui::UiBuilder::new().max_rect(rect).layout(layout), |ui| ui.label(format::count(*number)));
            ui.end_row();
        }
    });
}
