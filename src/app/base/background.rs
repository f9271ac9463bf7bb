//! Background work that nothing waits for: small files that are read, written or searched for, each on
//! a thread of its own that notifies the window when it is done.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use eframe::egui;

/// The jobs in progress, one receiver each.
#[derive(Debug)]
pub struct Background<T>(Vec<Receiver<T>>);

impl<T> Default for Background<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts a job without waiting for it.
    pub fn start(&mut self, ctx: &egui::Context, work: impl FnOnce() -> T + Send + 'static) {
        let (send, done) = channel();
        self.0.push(done);
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let _ = send.send(work()); // the window may be gone by now
            ctx.request_repaint();
        });
    }

    /// Whether a job is in progress.
    pub fn is_at_work(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes the results of the jobs that have finished since the last call.
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
