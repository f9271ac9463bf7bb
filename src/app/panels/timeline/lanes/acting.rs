//! A lane's triangle, its menu, and its click, which filters to it.

use std::sync::Arc;

use eframe::egui::{self, Rect, Ui, vec2};

use super::super::names;
use super::drawing::Shown;
use crate::app::commands::{Commands, DocCommand};
use crate::app::state::answers::LayerOf;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::state::graph::LineOf;
use crate::app::state::lanes::{Lane, Parts};
use crate::app::widgets::list;
use crate::query::TypeKey;
use crate::units::{Interval, Ticks};

impl Shown<'_> {
    pub(super) fn triangle(&self, ui: &mut Ui, rect: Rect, is_open: bool, name: &str, commands: &mut Commands) {
        let LineOf::Layer(process, layer) = self.lane.of else { return };
        let place = Rect::from_min_size(rect.left_top() + vec2(9.0, 4.0), vec2(list::TRIANGLE, list::TRIANGLE));
        if !self.clip.contains_rect(place) {
            return;
        }
        let mut inner = ui.new_child(egui::UiBuilder::new().max_rect(place));
        if list::triangle(&mut inner, is_open, &format!("lane {name}")).clicked() {
            let to = if is_open { None } else { Some(self.first_parts((process, layer))) };
            commands.push(DocCommand::OpenLane((process, layer), to));
        }
    }

    /// The parts that an expanded lane shows at first: its heaps, or its functions if it has only one heap.
    fn first_parts(&self, of: LayerOf) -> Parts {
        let lane = self.lane_of(of);
        if lane.is_some_and(|lane| lane.only.is_none()) { Parts::Heaps } else { Parts::Functions }
    }

    /// Filters to the lane, or removes that filter.
    pub(super) fn filter(&self, commands: &mut Commands) {
        let filters = self.canvas.document.filters();
        match (names::path(self.canvas.document, &self.lane.of), self.predicate()) {
            (Some(path), _) => {
                let is_filtered = filters.under().any.contains(&path);
                commands.push(DocCommand::Filter((!is_filtered).then_some(path)));
            }
            (None, Some(what)) if filters.chips().iter().any(|chip| chip.what == what) => {
                commands.push(DocCommand::RemoveChip(what));
            }
            (None, Some(what)) => commands.push(DocCommand::AddChip(Chip::only(what))),
            (None, None) => {}
        }
    }

    /// The predicate that the lane's rows meet.
    fn predicate(&self) -> Option<Predicate> {
        match &self.lane.of {
            LineOf::Part(process, layer, name) => match self.lane_of((*process, *layer))?.opened? {
                Parts::Types => Some(Predicate::Type(TypeKey { layer: *layer, name: Arc::clone(name) })),
                Parts::Functions => Some(Predicate::Function(Arc::clone(name))),
                Parts::Heaps => None,
            },
            LineOf::Type(key) => Some(Predicate::Type(key.clone())),
            of => names::path(self.canvas.document, of).map(Predicate::Under),
        }
    }

    fn lane_of(&self, of: LayerOf) -> Option<&Lane> {
        self.canvas.document.lanes().iter().find(|lane| lane.of == of)
    }

    pub(super) fn menu(&self, ui: &mut Ui, peak_at: Option<Ticks>, commands: &mut Commands) {
        if let LineOf::Layer(process, layer) = self.lane.of {
            let lane = self.lane_of((process, layer));
            let opened = lane.and_then(|lane| lane.opened);
            let all =
                [(Parts::Heaps, "Heaps below it"), (Parts::Types, "Types below it"), (Parts::Functions, "Functions below it")];
            for (parts, text) in all {
                let is_there = parts != Parts::Heaps || lane.is_some_and(|lane| lane.only.is_none());
                if is_there && ui.radio(opened == Some(parts), text).clicked() {
                    let to = (opened != Some(parts)).then_some(parts);
                    commands.push(DocCommand::OpenLane((process, layer), to));
                }
            }
            ui.separator();
        }
        if let Some(what) = self.predicate() {
            commands.on_click(&ui.button("Filter to this"), DocCommand::AddChip(Chip::only(what.clone())));
            commands.on_click(&ui.button("Exclude this"), DocCommand::AddChip(Chip::without(what.clone())));
            if let Some(peak_at) = peak_at
                && ui.button("What was alive at its peak").clicked()
            {
                let at = peak_at.next();
                commands.push(DocCommand::AddChip(Chip::only(what)));
                commands.push(DocCommand::Select(Some(Interval { from: at, to: at })));
            }
        }
        if matches!(self.lane.of, LineOf::Layer(..) | LineOf::Heap(_) | LineOf::Counter(_) | LineOf::Overlay(_))
            && ui.button("Hide this lane").clicked()
        {
            commands.push(DocCommand::ShowLine(self.lane.of.clone(), false));
        }
    }
}
