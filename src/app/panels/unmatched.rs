//! Frees of unknown blocks for the trace tab: who freed, where, how often.

use eframe::egui::{self, Ui};

use crate::app::document::Document;
use crate::format;
use crate::model::Trace;
use crate::query::{UnmatchedGroup, frame_label};

/// Frames of an open group.
const FRAMES: usize = 48;

/// The list; nothing if there are none.
pub fn list(document: &Document, ui: &mut Ui) {
    let trace = &document.trace;
    let Some((groups, all)) = document.unmatched().filter(|(groups, _)| !groups.is_empty()) else { return };
    ui.strong("Frees of unknown blocks")
        .on_hover_text("Blocks that were allocated before the recording, or whose allocation was lost. They change no number");
    for (index, group) in groups.iter().enumerate() {
        egui::CollapsingHeader::new(title(trace, group)).id_salt(("unmatched", index)).show(ui, |ui| frames(trace, group, ui));
    }
    if all > groups.len() {
        ui.weak(format!("and {} more places", format::count((all - groups.len()) as u64)));
    }
    let without = trace.quality.unmatched_frees.saturating_sub(trace.unmatched.len() as u64);
    if without > 0 {
        ui.weak(format!("{} more were counted, but not kept with their places", format::count(without)));
    }
    ui.add_space(8.0);
}

fn title(trace: &Trace, group: &UnmatchedGroup) -> String {
    let seconds = |t| format!("{:.3} s", trace.clock.seconds(t));
    let (first, last) = group.times;
    let when = if first == last { format!("at {}", seconds(first)) } else { format!("{} to {}", seconds(first), seconds(last)) };
    let innermost = trace
        .stacks
        .chain(group.stack)
        .next()
        .map_or_else(|| "no stack recorded".to_owned(), |node| name(trace, group, trace.stacks.address(node)));
    format!("{} × {}: {innermost}, {when}", format::count(group.count), group.label(trace))
}

fn frames(trace: &Trace, group: &UnmatchedGroup, ui: &mut Ui) {
    let mut chain = trace.stacks.chain(group.stack);
    for node in chain.by_ref().take(FRAMES) {
        ui.label(name(trace, group, trace.stacks.address(node)));
    }
    let more = chain.count();
    if more > 0 {
        ui.weak(format!("and {more} frames around these"));
    }
    if group.stack == crate::model::NodeId::ROOT {
        ui.weak("These frees came without a call stack; record stacks for HeapFree to see where they are made");
    }
}

fn name(trace: &Trace, group: &UnmatchedGroup, address: u64) -> String {
    match group.process {
        Some(process) => frame_label(trace, process, address, group.times.0),
        None => format!("{address:#x}"),
    }
}
