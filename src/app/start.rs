//! A picture of the finished window, for scripts and machines without a screen.

use std::path::PathBuf;

use eframe::egui;

/// Waits until the window has nothing left to do, then saves it and quits.
#[derive(Debug)]
pub struct Picture {
    path: PathBuf,
    quiet_frames: u32,
    asked: bool,
}

/// Frames without work before the picture: animations end, fonts and columns settle.
const QUIET_FRAMES: u32 = 20;

impl Picture {
    pub fn new(path: PathBuf) -> Self {
        Self { path, quiet_frames: 0, asked: false }
    }

    /// Counts one frame; the one after enough quiet ones is saved.
    pub fn take_when_ready(&mut self, ctx: &egui::Context, busy: bool) {
        ctx.request_repaint();
        self.quiet_frames = if busy { 0 } else { self.quiet_frames + 1 };
        if self.asked || self.quiet_frames < QUIET_FRAMES {
            return;
        }
        self.asked = true;
        let (path, quit) = (self.path.clone(), ctx.clone());
        let save = egui::ScreenshotCallback::new(move |image| {
            let [width, height] = image.size;
            let bytes: Vec<u8> = image.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
            let saved = image::save_buffer(&path, &bytes, width as u32, height as u32, image::ColorType::Rgba8);
            if let Err(reason) = saved {
                log::error!("{}: the picture could not be saved: {reason}", path.display());
            }
            quit.send_viewport_cmd(egui::ViewportCommand::Close);
        });
        ctx.send_viewport_cmd(egui::ViewportCommand::Screenshot(save));
    }
}
