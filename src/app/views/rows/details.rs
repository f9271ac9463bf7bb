//! The details of one allocation: its numbers, and the stacks that allocated and freed it.

use eframe::egui::{self, Ui};

use super::Listed;
use crate::app::commands::Commands;
use crate::app::widgets::frames;
use crate::format;
use crate::model::{NodeId, RowId, Site};
use crate::query::{Recorded, allocated_type, heap_label, thread_label};
use crate::units::Layer;

pub fn show(ui: &mut Ui, listed: &Listed, id: RowId, commands: &mut Commands) {
    let trace = &listed.trace;
    if id.0 as usize >= trace.rows.len() {
        return;
    }
    let row = trace.rows.get(id);
    let site = trace.site(row.site);
    ui.strong(format!("{:#x}, {}", row.address, format::bytes(row.size)));
    egui::Grid::new("allocation details").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.weak(name);
            ui.label(value);
            ui.end_row();
        };
        line("Bytes", format::count(row.size));
        line("Type", allocated_type(trace, &listed.names, site).unwrap_or("(unknown type)").to_owned());
        line("Process", trace.process_name(trace.process_of(site)));
        line("Handle", heap_label(trace.heap(site.heap)));
        line("Thread", thread_label(trace, site.caller, row.thread));
        line("Allocated", listed.time(row.birth));
        line("Freed", listed.time(row.death));
        line("LifeTime", listed.lifetime(&row).map_or_else(|| "\u{2014}".to_owned(), format::duration));
    });
    stack(ui, listed, ("Stack", site), commands);
    if let Some(freed) = trace.freed_at(id) {
        let title = if trace.layer_of(site) == Layer::Commit { "Decommit Stack" } else { "Free Stack" };
        stack(ui, listed, (title, freed), commands);
    }
}

/// Draws a whole stack, innermost frame first, as a debugger lists it.
fn stack(ui: &mut Ui, listed: &Listed, (title, site): (&str, &Site), commands: &mut Commands) {
    let trace = &listed.trace;
    ui.separator();
    ui.strong(title);
    if site.stack == NodeId::ROOT {
        ui.weak("No stack was recorded.");
    }
    for node in trace.stacks.chain(site.stack) {
        let frame = Recorded::of(trace, &listed.names, node, site.caller, site.first, node == site.stack);
        let mut levels: Vec<u16> = frame.shown(false).collect();
        levels.reverse();
        for level in levels {
            frames::line(ui, &frame, level, commands);
        }
    }
}
