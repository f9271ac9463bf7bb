//! The list of processes and the flame graph of one of them, side by side; in a narrow view the list is a combo box.

use std::sync::Arc;

use eframe::egui::{self, Ui};

use super::{ProcessChoice, Processors, Ran, list};
use crate::app::base::table::TableSource;
use crate::app::services::names::Looked;
use crate::app::state::ids::ViewId;
use crate::app::state::view_choices::ViewChoices;
use crate::app::views::flame::{chosen_focus, focus_choice, turn_tools};
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::export::html::FlameGraph;
use crate::format;
use crate::model::{IntervalOrigin, Trace};
use crate::query::{Key, KeyMap, Path};

/// Width from which the list stands beside the graph.
const WIDE: f32 = 640.0;

/// The hint for a trace without samples.
const NO_SAMPLES: &str = "No CPU samples in this trace. To see what ran while memory was allocated, record them too: \
                          highwater record --samples, \
                          xperf -on PROC_THREAD+LOADER+PROFILE+VIRT_ALLOC -stackwalk Profile+VirtualAlloc, \
                          or wpr -start CPU -start VirtualAllocation.";

impl Pane for Processors {
    fn forget(&mut self) {
        self.ran = None;
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        show(self, context, ui);
        if let Some(ran) = &self.ran {
            context.looked = Some(Looked::Frames(Arc::clone(&ran.nameless)));
        }
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if self.ran.is_none() {
            return;
        }
        turn_tools((&mut self.is_inverted, &mut self.focus), context, ui);
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(&self.ran.as_ref()?.list) as Arc<dyn TableSource>)
    }

    fn flame_graph(&self) -> Option<FlameGraph> {
        Some(self.ran.as_ref()?.icicle.as_page(ViewId::Processors.title(), self.is_inverted))
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }

    fn add_choices(&self, choices: &mut ViewChoices) {
        let is_usual = !self.is_inverted && self.focus.is_empty();
        choices.focus = (!is_usual).then(|| focus_choice(self.is_inverted, &self.focus));
    }

    fn take_choices(&mut self, choices: &ViewChoices) {
        (self.is_inverted, self.focus) = chosen_focus(choices).unwrap_or_default();
    }

    fn paths(&self) -> Vec<Path> {
        let Some(ProcessChoice::One(Some(process))) = self.choice else { return Vec::new() };
        vec![[Key::Process(process)].into()]
    }

    fn renumber(&mut self, map: &KeyMap) {
        if let Some(ProcessChoice::One(Some(process))) = self.choice {
            self.choice = map.process(process).map(|process| ProcessChoice::One(Some(process)));
        }
    }
}

pub fn show(view: &mut Processors, context: &mut ViewContext<'_>, ui: &mut Ui) {
    let trace = &context.document.trace;
    if trace.activity.samples.list.is_empty() {
        let text = match trace.activity.samples.idle {
            0 => NO_SAMPLES.to_owned(),
            idle => format!("All {} CPU samples in this trace are of idle CPUs.", format::count(idle)),
        };
        centered(ui, text);
        return;
    }
    let Some(ran) = &view.ran else {
        context.wait(ui);
        return;
    };
    if ran.list.count == 0 {
        context.nothing(ui, "No CPU samples in this interval.");
        return;
    }
    let is_wide = ui.available_width() >= WIDE;
    let mut chosen = None;
    if is_wide {
        let room = ui.available_width();
        let shown = egui::Panel::left("processes that ran").resizable(true).default_size((room * 0.42).clamp(300.0, 500.0));
        let shown = shown.size_range(180.0..=room - 260.0);
        chosen = shown.show(ui, |ui| list::show(&ran.list, ran.choice, context, ui)).inner;
    }
    let mut focus = None;
    let of_graph = |ui: &mut Ui| {
        let picked = if is_wide { None } else { choice(ran, ui) };
        ui.add(egui::Label::new(egui::RichText::new(quality(&context.document.trace, ran)).weak()).wrap());
        focus = ran.icicle.show(context, ui);
        picked
    };
    let picked = egui::CentralPanel::default().frame(egui::Frame::NONE).show(ui, of_graph).inner;
    if let Some(choice) = chosen.or(picked).filter(|choice| *choice != ran.choice) {
        view.choose(choice);
        context.ask();
    } else if let Some(focus) = focus.filter(|focus| *focus != view.focus) {
        view.focus = focus;
        context.ask();
    }
}

/// Draws the list as a combo box, for narrow views.
fn choice(ran: &Ran, ui: &mut Ui) -> Option<ProcessChoice> {
    let mut chosen = None;
    let now = ran.list.chosen(ran.choice).unwrap_or_default();
    let shown = egui::ComboBox::from_id_salt("process that ran").width(ui.available_width() - 12.0).selected_text(now);
    shown.show_ui(ui, |ui| {
        for (choice, name) in ran.list.all() {
            if ui.selectable_label(choice == ran.choice, name).clicked() {
                chosen = Some(choice);
            }
        }
    });
    chosen
}

/// Describes how accurate and complete the samples are.
fn quality(trace: &Trace, ran: &Ran) -> String {
    let samples = &trace.activity.samples;
    let seconds = samples.interval / trace.clock.frequency as f64;
    let doubt = match samples.interval_origin {
        IntervalOrigin::Told => "",
        IntervalOrigin::Assumed => " (assumed: the trace does not say)",
        IntervalOrigin::Changed => " (it changed: times are approximate)",
    };
    let mut text = format!(
        "{} CPU samples in this interval, one every {} per CPU{doubt}.",
        format::count(ran.list.count),
        format::duration(seconds)
    );
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            text.push_str(&format!(" {} {what}", format::count(count)));
        }
    };
    add(samples.idle, "samples of idle CPUs in the whole trace are left out.");
    add(samples.unknown, "samples in the whole trace are of threads whose process is not known.");
    if let Some(cut) = samples.cut {
        let at = trace.clock.seconds(cut);
        text.push_str(&format!(" Samples after {at:.6} s were left out for lack of memory."));
    }
    text
}
