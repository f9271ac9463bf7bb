//! System fonts for characters that the window's own fonts lack: names of processes, heaps, types and
//! files can be in any script. Only when a text with such a character is drawn, a worker looks for a
//! font that contains it, as the system would choose (`egui_system_font_provider`; on Windows the fonts
//! that come with it, module `known`). Until then, and if there is none, a box is drawn instead.
//!
//! Bounds: at most [`MOST_FONTS`] files of at most [`LARGEST_FILE`] bytes; each is tried on the worker
//! before the window gets it. No frame waits: a request costs one look into a set.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eframe::egui::epaint::text::{FallbackRequest, FontDefinitions, FontId, FontInsert, FontProvider, Fonts, TextOptions};
use eframe::egui::{self, FontFamily};

use crate::panics;
use crate::tables::KeyedSet;

#[cfg(any(windows, test))]
mod known;

#[cfg(not(windows))]
use egui_system_font_provider::SystemFontProvider as Installed;
#[cfg(windows)]
use known::KnownFonts as Installed;

/// Maximum number of system fonts in use.
const MOST_FONTS: usize = 4;

/// Maximum size of a font's file in bytes.
const LARGEST_FILE: usize = 40 << 20;

/// Maximum number of characters that are looked for.
const MOST_CHARACTERS: usize = 4096;

/// The system fonts found so far. Cheap to clone.
#[derive(Clone)]
pub struct SystemFonts(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    fonts: Vec<FontInsert>,
    /// All characters requested so far.
    asked: KeyedSet<char>,
    /// Number of characters that the worker has not looked for yet.
    waiting: usize,
    /// Sends characters to the worker; `None` until it is started.
    worker: Option<Sender<char>>,
}

impl SystemFonts {
    /// Makes the window draw with system fonts the characters that its own fonts lack.
    pub fn install(ctx: &egui::Context) -> Self {
        let fonts = Self(Arc::default());
        ctx.add_font_provider(Arc::new(Provider { fonts: fonts.clone(), ctx: ctx.clone() }));
        fonts
    }

    /// Whether fonts are being looked for.
    pub fn is_busy(&self) -> bool {
        self.lock().waiting > 0
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests a character from the worker, once.
    fn ask(&self, c: char, ctx: &egui::Context) {
        let mut found = self.lock();
        if found.asked.len() >= MOST_CHARACTERS || !found.asked.insert(c) {
            return;
        }
        found.waiting += 1;
        let worker = found.worker.get_or_insert_with(|| {
            let (send, asked) = channel();
            let (fonts, ctx) = (self.clone(), ctx.clone());
            std::thread::spawn(move || fonts.work(&asked, &ctx));
            send
        });
        if worker.send(c).is_err() {
            found.waiting = 0; // the worker panicked
        }
    }

    /// Looks for requested characters, as long as there is a window.
    fn work(&self, asked: &Receiver<char>, ctx: &egui::Context) {
        let system = Installed::new();
        while let Ok(first) = asked.recv() {
            // Requests that have arrived by now are handled together.
            let batch: Vec<char> = std::iter::once(first).chain(asked.try_iter()).collect();
            let mut has_more = false;
            for &c in &batch {
                let known = self.lock().fonts.clone();
                if known.len() < MOST_FONTS && !known.iter().any(|font| has(font, c)) {
                    let font = panics::catch(|| look_for(&system, c)).ok().flatten();
                    has_more |= font.is_some();
                    self.lock().fonts.extend(font);
                }
            }
            self.lock().waiting -= batch.len();
            if has_more {
                // All missing characters are looked up again.
                ctx.set_font_providers(vec![Arc::new(Provider { fonts: self.clone(), ctx: ctx.clone() })]);
            }
            ctx.request_repaint();
        }
    }
}

/// A system font that contains this character, if there is a usable one.
fn look_for(system: &Installed, c: char) -> Option<FontInsert> {
    let cluster = c.to_string();
    let request = FallbackRequest { cluster: &cluster, family: &FontFamily::Proportional };
    system.font_for(&request).filter(|font| font.data.bytes().len() <= LARGEST_FILE && has(font, c))
}

/// Whether a font can be read and contains a character, tested as the window would use it.
fn has(font: &FontInsert, c: char) -> bool {
    let mut alone = FontDefinitions::empty();
    alone.font_data.insert(font.name.clone(), Arc::new(font.data.clone()));
    alone.families.insert(FontFamily::Proportional, vec![font.name.clone()]);
    alone.families.insert(FontFamily::Monospace, vec![font.name.clone()]);
    let tried = panics::catch(|| Fonts::new(TextOptions::default(), alone).has_glyph(&FontId::proportional(14.0), c));
    tried.unwrap_or(false)
}

/// The source of fallback fonts for egui.
struct Provider {
    fonts: SystemFonts,
    ctx: egui::Context,
}

impl FontProvider for Provider {
    fn fonts_for_family(&self, _: &FontFamily) -> Vec<FontInsert> {
        self.fonts.lock().fonts.clone()
    }

    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        if let Some(c) = request.cluster.chars().next() {
            self.fonts.ask(c, &self.ctx);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_have_one_width() {
        let mut fonts = Fonts::new(TextOptions::default(), FontDefinitions::default());
        for font in [FontId::proportional(13.0), FontId::proportional(16.0), FontId::monospace(12.0)] {
            let widths: Vec<f32> = ('0'..='9').map(|c| fonts.with_pixels_per_point(1.0).glyph_width(&font, c)).collect();
            assert!(widths.iter().all(|&width| width == widths[0] && width > 0.0), "{font:?}: {widths:?}");
        }
    }
}
