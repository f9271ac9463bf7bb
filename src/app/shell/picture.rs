//! Saves a picture of the finished window, for scripts and machines without a screen.

use std::io;
use std::path::PathBuf;

use eframe::egui;

use crate::paths::{self, Existing};

/// Waits until the window has nothing left to do, then saves it and quits.
#[derive(Debug)]
pub struct Picture {
    path: PathBuf,
    existing: Existing,
    quiet_frames: u32,
    asked: bool,
}

/// Idle frames before the picture, in which animations end and fonts and columns settle.
const QUIET_FRAMES: u32 = 20;

impl Picture {
    /// A picture for this file; `existing` says whether it may replace one.
    pub fn new(path: PathBuf, existing: Existing) -> Self {
        Self { path, existing, quiet_frames: 0, asked: false }
    }

    /// Counts one frame; after enough idle frames the next one is saved.
    pub fn take_when_ready(&mut self, ctx: &egui::Context, busy: bool) {
        ctx.request_repaint();
        self.quiet_frames = if busy { 0 } else { self.quiet_frames + 1 };
        if self.asked || self.quiet_frames < QUIET_FRAMES {
            return;
        }
        self.asked = true;
        let (path, existing, quit) = (self.path.clone(), self.existing, ctx.clone());
        let save = egui::ScreenshotCallback::new(move |image| {
            let [width, height] = image.size;
            let bytes: Vec<u8> = image.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
            let saved = paths::write(&path, existing, |draft| {
                let encoder = image::codecs::png::PngEncoder::new(draft);
                let color = image::ExtendedColorType::Rgba8;
                image::ImageEncoder::write_image(encoder, &bytes, width as u32, height as u32, color).map_err(io::Error::other)
            });
            if let Err(reason) = saved {
                log::error!("{}: the picture could not be saved: {reason}", path.display());
            }
            quit.send_viewport_cmd(egui::ViewportCommand::Close);
        });
        ctx.send_viewport_cmd(egui::ViewportCommand::Screenshot(save));
    }
}
