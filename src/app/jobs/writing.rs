//! Long writes of files, as the window sees them: how far one is, and stopping it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A write that takes less long is not shown, because a bar that comes and goes moves what is below it.
const UNSEEN: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
struct Shared {
    /// The part that is done, as the bits of an `f32`.
    done: AtomicU32,
    stop: AtomicBool,
}

/// The window's side of a write. The worker's side lives as long as the work.
#[derive(Debug)]
pub struct Writing {
    /// Name of the file.
    pub name: String,
    since: Instant,
    shared: Weak<Shared>,
}

/// The worker's side of a write.
#[derive(Debug)]
pub struct WriteWatch(Arc<Shared>);

impl Writing {
    /// Both sides of a write that begins.
    pub fn begin(name: String) -> (Self, WriteWatch) {
        let shared = Arc::new(Shared::default());
        (Self { name, since: Instant::now(), shared: Arc::downgrade(&shared) }, WriteWatch(shared))
    }

    /// Whether the worker still writes.
    pub fn is_at_work(&self) -> bool {
        self.shared.strong_count() > 0
    }

    /// Whether it has taken so long that the user wants to see it.
    pub fn is_long(&self) -> bool {
        self.since.elapsed() > UNSEEN
    }

    /// The part that is done, 0 to 1.
    pub fn progress(&self) -> f32 {
        self.shared.upgrade().map_or(1.0, |shared| f32::from_bits(shared.done.load(Ordering::Relaxed)))
    }

    /// Asks the worker to stop.
    pub fn stop(&self) {
        self.shared.upgrade().into_iter().for_each(|shared| shared.stop.store(true, Ordering::Relaxed));
    }

    /// Whether the worker was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.shared.upgrade().is_some_and(|shared| shared.stop.load(Ordering::Relaxed))
    }
}

impl WriteWatch {
    /// Tells the part that is done; returns whether to go on.
    pub fn tell(&self, done: f32) -> bool {
        self.0.done.store(done.to_bits(), Ordering::Relaxed);
        !self.is_stopped()
    }

    /// Whether the user stopped the write.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_goes_on_until_it_is_stopped_and_is_gone_with_its_worker() {
        let (writing, watch) = Writing::begin("a".to_owned());
        assert!(watch.tell(0.25) && writing.is_at_work() && !writing.is_stopping());
        assert_eq!(writing.progress(), 0.25);
        writing.stop();
        assert!(!watch.tell(0.5) && watch.is_stopped() && writing.is_stopping());
        drop(watch);
        assert!(!writing.is_at_work());
    }
}
