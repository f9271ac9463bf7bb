//! The controls of a capture that is being replayed or recorded, in the status bar.

use eframe::egui;

use super::context::PanelContext;
use crate::app::commands::{Commands, LoadCommand};
use crate::app::jobs::player::{Player, PlayerChange, SPEEDS, speed_label};
use crate::format;

pub fn show(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    let PanelContext { loading, commands, document, .. } = context;
    let Some(player) = loading.as_ref().and_then(|job| job.player()) else { return };
    if player.hurries() {
        ui.weak("Loading the rest");
        return;
    }
    let (text, hint) = match player.is_paused() {
        true => ("Resume", "Go on playing"),
        false => ("Pause", "Pause here; everything can still be explored"),
    };
    commands.on_click(&ui.button(text).on_hover_text(hint), LoadCommand::ChangePlayer(PlayerChange::Pause(!player.is_paused())));
    speeds(player, commands, ui);
    let end = ui.button("To the End").on_hover_text("Load the rest as fast as possible");
    commands.on_click(&end, LoadCommand::ChangePlayer(PlayerChange::ToTheEnd));
    if let Some(document) = document {
        let now = document.trace.clock.seconds(document.trace.span.to);
        ui.weak(format!("{} at {now:.1} s", if player.is_paused() { "Paused" } else { "Playing" }));
    }
}

/// The controls of a capture that is being recorded, which continues by itself until it is complete.
pub fn show_followed(context: &mut PanelContext<'_>, ui: &mut egui::Ui) {
    let PanelContext { loading: Some(job), commands, document, .. } = context else { return };
    let now = document.as_ref().map_or(0.0, |document| document.trace.clock.seconds(document.trace.span.to));
    let (does, size) = (if job.is_ending() { "Ending" } else { "Following" }, format::rough_bytes(job.bytes()));
    if !job.is_ending() {
        let (text, hint) = match job.is_held() {
            true => ("Resume", "Show what has arrived meanwhile, and follow again"),
            false => ("Pause", "Freeze the display; highwater keeps reading"),
        };
        commands.on_click(&ui.button(text).on_hover_text(hint), LoadCommand::TogglePause);
    }
    let does = if job.is_held() { "Paused" } else { does };
    ui.weak(format!("{does}: {now:.1} s, {size}"));
    let stop = ui.add_enabled(!job.is_ending(), egui::Button::new("Stop Following"));
    if stop.on_hover_text("Keep what was read so far; the recording itself goes on").clicked() {
        commands.push(LoadCommand::EndFollowing);
    }
}

fn speeds(player: &Player, commands: &mut Commands, ui: &mut egui::Ui) {
    let now = player.speed();
    let shown = egui::ComboBox::from_id_salt("speed").width(52.0).selected_text(speed_label(now));
    shown
        .show_ui(ui, |ui| {
            for speed in SPEEDS {
                let label = ui.selectable_label(speed == now, speed_label(speed));
                commands.on_click(&label, LoadCommand::ChangePlayer(PlayerChange::Speed(speed)));
            }
        })
        .response
        .on_hover_text("Speed: seconds of the capture per second");
}
