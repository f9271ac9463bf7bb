//! Frees without a known allocation, for the trace tab: the code that freed, its place, and how often.

use eframe::egui::{self, Ui};

use crate::app::document::Document;
use crate::format;
use crate::model::{NodeId, Trace};
use crate::query::{Recorded, UnmatchedGroup};
use crate::symbols::Names;

/// Maximum number of frames of an open group.
const FRAMES: usize = 48;

/// The list; nothing if there are no such frees.
pub fn list(document: &Document, ui: &mut Ui) {
    let trace = &document.trace;
    let Some((groups, all)) = document.unmatched().filter(|(groups, _)| !groups.is_empty()) else { return };
    ui.strong("Frees without a known allocation")
        .on_hover_text("Blocks that were allocated before the recording, or whose allocation was lost. They change no number");
    let none = Names::default();
    let names = document.names.as_ref().map_or(&none, |names| names.known());
    for (index, group) in groups.iter().enumerate() {
        let title = title(trace, group, &innermost(document, names, group));
        egui::CollapsingHeader::new(title).id_salt(("unmatched", index)).show(ui, |ui| frames(trace, names, group, ui));
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

fn title(trace: &Trace, group: &UnmatchedGroup, innermost: &str) -> String {
    let seconds = |t| format!("{:.3} s", trace.clock.seconds(t));
    let (first, last) = group.times;
    let when = if first == last { format!("at {}", seconds(first)) } else { format!("{} to {}", seconds(first), seconds(last)) };
    format!("{} × {}: {innermost}, {when}", format::count(group.count), group.label(trace))
}

/// The code that freed: the innermost frame, or the innermost one outside the allocator.
fn innermost(document: &Document, names: &Names, group: &UnmatchedGroup) -> String {
    let trace = &document.trace;
    let first =
        |fold| trace.stacks.chain(group.stack).find_map(|node| labels(trace, names, group, node, fold).into_iter().next());
    first(document.fold.is_any()).or_else(|| first(false)).unwrap_or_else(|| "no stack recorded".to_owned())
}

fn frames(trace: &Trace, names: &Names, group: &UnmatchedGroup, ui: &mut Ui) {
    let mut chain = trace.stacks.chain(group.stack);
    for node in chain.by_ref().take(FRAMES) {
        for label in labels(trace, names, group, node, false) {
            ui.label(label);
        }
    }
    let more = chain.count();
    if more > 0 {
        ui.weak(format!("and {more} frames around these"));
    }
    if group.stack == NodeId::ROOT {
        ui.weak("These frees came without a call stack; record stacks for HeapFree to see where they are made");
    }
}

/// The names for one frame of a group, innermost first.
fn labels(trace: &Trace, names: &Names, group: &UnmatchedGroup, node: NodeId, fold: bool) -> Vec<String> {
    let Some(process) = group.process else { return vec![format!("{:#x}", trace.stacks.address(node))] };
    let frame = Recorded::of(trace, names, node, process, group.times.0, node == group.stack);
    let mut labels: Vec<String> = frame.shown(fold).map(|level| frame.name(level).to_string()).collect();
    labels.reverse();
    labels
}
