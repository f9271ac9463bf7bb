//! The process filter for sessions other than the kernel's. Only the kernel session tells which processes are followed,
//! perhaps a second later; until then the events of a process wait.

use super::Followed;
use super::waiting::Waiting;
use crate::etl::write::NewEvent;
use crate::events::process_of;

/// Passes on the events of the followed processes; an event belongs to the process that wrote it, one of GPU memory to the
/// process that it names. If the process is not announced in time, the event is dropped.
///
/// Cost and memory: as for [`Followed`].
#[derive(Debug)]
pub struct Elsewhere {
    pub(super) waiting: Waiting,
    /// The latest time of an event.
    now: i64,
}

impl Elsewhere {
    /// Creates a filter. `frequency` is the number of ticks in a second of event time.
    pub fn new(frequency: u64) -> Self {
        Self { waiting: Waiting::new(frequency), now: i64::MIN }
    }

    /// Takes the next event; calls `pass` with each event to be recorded now.
    pub fn take(&mut self, followed: &Followed, event: &NewEvent<'_>, pass: &mut dyn FnMut(&NewEvent<'_>)) {
        self.now = self.now.max(event.time);
        self.settle(followed, pass);
        let pid = process_of(event).0;
        match followed.was_followed(pid, event.time) {
            Some(true) => pass(event),
            Some(false) => {}
            None => {
                self.waiting.push(pid, event.time, event);
                self.expire();
            }
        }
    }

    /// Passes on or drops the events whose process is known by now. Call it from time to time, in case no more events come.
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
