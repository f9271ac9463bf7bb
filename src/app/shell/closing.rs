//! Closing the window while something is being saved: it stays until that is written.

use eframe::egui::{self, ViewportCommand};

use super::HighwaterApp;

impl HighwaterApp {
    /// Keeps a window open that is closed while something is being saved, and closes it afterwards. Closed once more, it closes
    /// at once. One whose save fails or has a question stays.
    pub(super) fn close_when_saved(&mut self, ctx: &egui::Context) {
        let is_at_work = self.exports.is_at_work();
        if ctx.input(|input| input.viewport().close_requested()) && is_at_work && !self.is_closing {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            self.is_closing = true;
        } else if self.is_closing && !is_at_work {
            ctx.send_viewport_cmd(ViewportCommand::Close);
        }
    }
}
