//! The list of frames, with a summary above it.

use std::borrow::Borrow;
use std::sync::Arc;

use eframe::egui::Ui;

use super::{Frames, Listed, Order, net};
use crate::app::base::table::{FlatTable, SavedSort, Sort, TableSource, TypedColumn};
use crate::app::commands::DocCommand;
use crate::app::jobs::drop_aside;
use crate::app::state::ids::Stop;
use crate::app::state::overlay::Overlay;
use crate::app::views::{Pane, ViewContext};
use crate::app::widgets::centered::centered;
use crate::app::widgets::drop_down::drop_down;
use crate::app::widgets::list::{self, ColumnOf, List, ListColumn, Share, Value, widest};
use crate::format;
use crate::query::{FrameLine, frame_name, layer_label};
use crate::units::{Layer, Ticks};

/// The summary of the frames, in one line.
fn summary(listed: &Listed) -> String {
    let Some(times) = listed.times else { return String::new() };
    let frequency = listed.trace.clock.frequency as f64;
    let duration = |ticks: f64| format::duration(ticks / frequency);
    if times.count == 1 {
        return format!("1 frame \u{b7} {}", duration(times.mean));
    }
    format!(
        "{} frames \u{b7} mean {} \u{b7} 95 % up to {} \u{b7} longest {}",
        format::count(times.count as u64),
        duration(times.mean),
        duration(times.percentile_95 as f64),
        duration(times.longest as f64),
    )
}

impl Pane for Frames {
    fn forget(&mut self) {
        drop_aside(self.listed.take());
    }

    fn show(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        if !Overlay::Frames.is_in(&context.document.trace) && context.document.is_settled() {
            centered(
                ui,
                "The trace has no frames. They come from the presents of DXGI and Direct3D 9, or of the graphics kernel for other \
                     games: record with --frames, or switch on the providers Microsoft-Windows-DXGI, Microsoft-Windows-D3D9 and \
                     Microsoft-Windows-DxgKrnl.",
            );
            return;
        }
        let Some(listed) = &self.listed else {
            context.wait(ui);
            return;
        };
        if listed.lines.is_empty() {
            context.nothing(ui, "No frame ends in this view.");
            return;
        }
        let shown = context.document.shown_frame();
        let pushed = list::show(ui, "frames", listed, &mut Lines { listed, sort: &mut self.sort, shown, context });
        context.commands.append(pushed);
    }

    fn tools(&mut self, context: &mut ViewContext<'_>, ui: &mut Ui) {
        self.layer.show_as(context, ui, self.listed.as_ref().map(|listed| listed.of.layer));
        let names = context.document.chain_names();
        let Some(now) = context.document.frames_in_scope() else { return };
        if names.len() > 1 {
            let shown = names.iter().find(|(chain, _)| *chain == now.chain).map_or("", |(_, name)| name.as_str());
            drop_down(ui, "swap chain", 220.0, shown).show_ui(ui, |ui| {
                for (chain, name) in &names {
                    context.commands.on_click(&ui.selectable_label(*chain == now.chain, name), DocCommand::ChooseChain(*chain));
                }
            });
        }
        ui.weak(self.listed.as_ref().map_or_else(String::new, |listed| summary(listed)));
    }

    fn table_source(&self) -> Option<Arc<dyn TableSource>> {
        Some(Arc::clone(self.listed.as_ref()?) as Arc<dyn TableSource>)
    }

    fn order(&self) -> Option<SavedSort> {
        self.sort.saved()
    }

    fn set_order(&mut self, order: Option<&SavedSort>) {
        self.sort = order.and_then(Sort::of).unwrap_or(Self::default().sort);
    }

    fn layer(&self) -> Option<Layer> {
        self.layer.own()
    }

    fn set_layer(&mut self, layer: Option<Layer>) {
        self.layer = layer.into();
    }
}

struct Lines<'a, 'b> {
    listed: &'a Arc<Listed>,
    sort: &'a mut Sort<Order>,
    /// The frame that the tables show.
    shown: Option<usize>,
    context: &'a mut ViewContext<'b>,
}

impl FlatTable for Listed {
    const TITLE: &'static str = "Frames";
    type Line = FrameLine;
    type Key = Order;
    const COLUMNS: &'static [TypedColumn<Self, FrameLine, Order>] = &[
        ListColumn::rest("Frame", "Its number: the frames of a swap chain are counted from 0, each from one present to the next")
            .by(Order::Number, |_, line| Value::Text(format::sentence(&frame_name(line.number)))),
        ListColumn::number("Start", "When it began, since the trace start", widest::MOMENT)
            .by(Order::Number, |listed, line| Value::moment(line.interval.from, &listed.trace.clock)),
        ListColumn::number("Duration", "From one present to the next", widest::DURATION)
            .by(Order::Duration, |listed, line| Value::Duration(listed.trace.clock.seconds(Ticks(line.interval.len())))),
        ListColumn::number("Allocations", "Allocations in this frame", widest::COUNT)
            .by(Order::Allocations, |_, line| Value::Count(line.sums.allocated_count)),
        ListColumn::number("Allocated", "Their bytes", widest::BYTES)
            .by(Order::Allocated, |_, line| Value::Bytes(line.sums.allocated_size)),
        ListColumn::number("Frees", "Frees in this frame", widest::COUNT)
            .by(Order::Frees, |_, line| Value::Count(line.sums.freed_count)),
        ListColumn::number("Freed", "Their bytes", widest::BYTES).by(Order::Freed, |_, line| Value::Bytes(line.sums.freed_size)),
        ListColumn::number("Net", "What it added to the outstanding size: allocated minus freed bytes", widest::CHANGE)
            .by(Order::Net, |_, line| Value::Change(net(line))),
    ];

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn line(&self, row: usize) -> Option<impl Borrow<FrameLine>> {
        self.lines.get(row)
    }
}

impl List<Listed> for Lines<'_, '_> {
    fn share(&self, row: usize, column: ColumnOf<Listed>) -> Option<Share> {
        let line = self.listed.lines.get(row)?;
        Share::of(column.key?.magnitude(line)?, self.listed.most, "the most of one frame in the view")
    }

    fn is_selected(&self, row: usize) -> bool {
        self.shown.is_some() && self.listed.lines.get(row).map(|line| line.number) == self.shown
    }

    fn clicked(&mut self, row: usize) {
        let Some(line) = self.listed.lines.get(row) else { return };
        self.context.commands.push(DocCommand::Select(Some(line.interval)));
    }

    fn double_clicked(&mut self, row: usize) {
        let Some(line) = self.listed.lines.get(row) else { return };
        self.context.commands.push(DocCommand::ZoomInto(line.interval));
    }

    fn menu(&mut self, ui: &mut Ui, row: usize) {
        let Some(line) = self.listed.lines.get(row) else { return };
        let all = [
            ("Select it", DocCommand::StepTo(Stop::Frame(line.number))),
            ("Zoom to it", DocCommand::ZoomInto(line.interval)),
            ("Set a pin where it begins", DocCommand::Pin(line.interval.from)),
        ];
        for (text, command) in all {
            self.context.commands.on_click(&ui.button(text), command);
        }
        ui.separator();
        ui.weak(format!("Numbers of {}", layer_label(self.listed.of.layer)));
    }

    fn sorted(&self, column: ColumnOf<Listed>) -> Option<bool> {
        (column.key == Some(self.sort.by)).then_some(self.sort.descending)
    }

    fn header_clicked(&mut self, column: ColumnOf<Listed>) {
        *self.sort = self.sort.clicked(column.key, |by| by != Order::Number);
        self.context.ask();
    }
}
