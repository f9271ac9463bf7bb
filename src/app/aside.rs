//! Work that nobody waits for: small files that are read, written or looked for, each on a thread of its own, which tells the
//! window when it is done.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use eframe::egui;

/// What is being done.
#[derive(Debug)]
pub struct Aside<T>(Vec<Receiver<T>>);

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Send + 'static> Aside<T> {
    /// Does something without waiting for it.
    pub fn start(&mut self, ctx: &egui::Context, work: impl FnOnce() -> T + Send + 'static) {
        let (send, done) = channel();
        self.0.push(done);
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let _ = send.send(work()); // the window may be gone by now
            ctx.request_repaint();
        });
    }

    /// Whether something is being done.
    pub fn is_at_work(&self) -> bool {
        !self.0.is_empty()
    }

    /// What was done since somebody asked.
    pub fn done(&mut self) -> Vec<T> {
        let mut all = Vec::new();
        self.0.retain(|done| match done.try_recv() {
            Ok(result) => {
                all.push(result);
                false
            }
            Err(reason) => reason == TryRecvError::Empty,
        });
        all
    }
}
