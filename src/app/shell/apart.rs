//! Files of several captures that were opened together: each is opened in a tab of its own.

use eframe::egui;

use super::HighwaterApp;
use crate::app::commands::Command;
use crate::app::jobs::apart::{Part, Told};
use crate::app::jobs::player::Pace;
use crate::app::panels::context::Offered;
use crate::app::state::inputs::short_name;

impl HighwaterApp {
    /// Takes note that files given together belong to several captures.
    pub(super) fn set_apart(&mut self, parts: Vec<Part>, pace: Pace) {
        let first = parts.iter().map(|part| part.inputs.clone()).zip(std::iter::once(true).chain(std::iter::repeat(false)));
        self.apart.waiting.extend(first.map(|(inputs, is_first)| (inputs, pace, is_first)));
        self.apart.told = Some(Told { parts, left_out: 0 });
    }

    /// Opens the next capture when nothing else is being loaded.
    pub(super) fn drain_apart(&mut self, ctx: &egui::Context) {
        while let Some(&(_, pace, is_first)) = self.apart.waiting.front() {
            if !is_first && self.is_reading() {
                return;
            }
            let Some((inputs, ..)) = self.apart.waiting.pop_front() else { return };
            if is_first {
                let messages = std::mem::take(&mut self.messages);
                self.open(ctx, inputs, pace);
                self.messages = messages;
            } else if !self.open_behind(ctx, inputs, pace)
                && let Some(told) = &mut self.apart.told
            {
                told.left_out += 1;
            }
        }
    }

    /// The comparisons to offer: each capture with the first one.
    pub(super) fn offered_comparisons(&self) -> Vec<Offered> {
        let Some(Told { parts, .. }) = &self.apart.told else { return Vec::new() };
        let Some((first, others)) = parts.split_first() else { return Vec::new() };
        let offer = |other: &Part| {
            let words = match others {
                [_] => "Compare them".to_owned(),
                _ => format!("Compare {} with {}", short_name(&first.inputs), short_name(&other.inputs)),
            };
            let tabs = self.settled_tab(&first.inputs).zip(self.settled_tab(&other.inputs));
            Offered { words, commands: tabs.map(|(a, b)| [Command::ShowTrace(b), Command::CompareWith(a)]) }
        };
        others.iter().take(3).map(offer).collect()
    }
}
