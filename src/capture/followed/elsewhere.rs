//! What other sessions than the kernel's tell of processes. Who is followed comes by the kernel's,
//! perhaps a second later: until it is known of a process, its events wait.

use super::Followed;
use super::waiting::Waiting;
use crate::etl::write::NewEvent;

/// Passes on what comes of the followed processes: an event belongs to the process that wrote it. Of
/// a process that is not announced in time it is dropped.
///
/// Cost and memory: those of [`Followed`].
#[derive(Debug)]
pub struct Elsewhere {
    pub(super) waiting: Waiting,
    /// The latest time of an event.
    now: i64,
}

impl Elsewhere {
    /// `frequency`: ticks a second of the events' times.
    pub fn new(frequency: u64) -> Self {
        Self { waiting: Waiting::new(frequency), now: i64::MIN }
    }

    /// Takes the next event; `pass` gets what is to be recorded now.
    pub fn take(&mut self, followed: &Followed, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        self.now = self.now.max(event.time);
        self.settle(followed, pass);
        match followed.was_followed(event.pid.0, event.time) {
            Some(true) => pass(event),
            Some(false) => {}
            None => {
                self.waiting.push(event.pid.0, event.time, event);
                self.expire();
            }
        }
    }

    /// Passes on what has waited to know of a process that is known now. To be called now and then,
    /// where nothing more may come.
    pub fn settle(&mut self, followed: &Followed, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        if self.waiting.is_empty() {
            return;
        }
        self.expire();
        for pid in self.waiting.whose(|pid, at| followed.was_followed(pid, at).is_some()) {
            self.waiting.settle(pid, |at| followed.was_followed(pid, at), pass);
        }
    }

    fn expire(&mut self) {
        while self.waiting.expire(self.now).is_some() {}
    }
}
