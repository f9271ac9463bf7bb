//! The details of one allocation: its numbers, and the stacks that allocated and freed it.

use std::sync::Arc;

use eframe::egui::{self, Ui};

use crate::app::commands::Commands;
use crate::app::widgets::frames;
use crate::format;
use crate::model::{NodeId, Row, RowId, Site, Trace};
use crate::query::{Recorded, allocated_type, heap_label, thread_label};
use crate::symbols::Names;
use crate::units::{Layer, Ticks};

/// The lifetime of an allocation in seconds, if both the allocation and the free were recorded.
pub fn lifetime(trace: &Trace, row: &Row) -> Option<f64> {
    let is_known = row.birth != Ticks::BEFORE_TRACE && row.death != Ticks::NEVER;
    is_known.then(|| trace.clock.seconds(row.death) - trace.clock.seconds(row.birth))
}

/// Draws the details of an allocation.
pub fn show(ui: &mut Ui, (trace, names): (&Arc<Trace>, &Arc<Names>), id: RowId, commands: &mut Commands) {
    if id.0 as usize >= trace.rows.len() {
        return;
    }
    let row = trace.rows.get(id);
    let site = trace.site(row.site);
    let time = |t: Ticks| format::moment(t, trace.clock.seconds(t));
    ui.strong(format!("{:#x}, {}", row.address, format::bytes(row.size)));
    egui::Grid::new("allocation details").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.weak(name);
            ui.label(value);
            ui.end_row();
        };
        line("Bytes", format::count(row.size));
        line("Type", allocated_type(trace, names, site).unwrap_or("(unknown type)").to_owned());
        line("Process", trace.process_name(trace.process_of(site)));
        line("Handle", heap_label(trace.heap(site.heap)));
        line("Thread", thread_label(trace, site.caller, row.thread));
        line("Allocated", time(row.birth));
        line("Freed", time(row.death));
        line("LifeTime", lifetime(trace, &row).map_or_else(|| "\u{2014}".to_owned(), format::duration));
    });
    stack(ui, (trace, names), ("Stack", site), commands);
    if let Some(freed) = trace.freed_at(id) {
        let title = if trace.layer_of(site) == Layer::Commit { "Decommit Stack" } else { "Free Stack" };
        stack(ui, (trace, names), (title, freed), commands);
    }
}

/// Draws a whole stack, innermost frame first, as a debugger lists it.
fn stack(ui: &mut Ui, (trace, names): (&Trace, &Names), (title, site): (&str, &Site), commands: &mut Commands) {
    ui.separator();
    ui.strong(title);
    if site.stack == NodeId::ROOT {
        ui.weak("No stack was recorded.");
    }
    for node in trace.stacks.chain(site.stack) {
        let frame = Recorded::of(trace, names, node, site.caller, site.first, node == site.stack);
        let mut levels: Vec<u16> = frame.shown(false).collect();
        levels.reverse();
        for level in levels {
            frames::line(ui, &frame, level, commands);
        }
    }
}
