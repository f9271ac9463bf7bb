//! Heaps that stay silent: why no heap event has come, as far as can be told from here.
//!
//! Windows traces the heaps of a process if its id was given, or its name before it started. It says
//! nothing where it does not: a protected process, a name that nobody has, one that ran before.

use std::time::{Duration, Instant};

use super::processes;
use crate::capture::{Request, Target};

/// Events come within a second or two; a program that does nothing at all for so long is rare.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the first heap event.
#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    target: Target,
    /// Who ran when the recording began.
    pids: Vec<u32>,
    is_over: bool,
}

impl Silence {
    /// Of a recording that begins now; `None` if heaps are not recorded.
    pub(super) fn new(request: &Request, is_recorded: bool, pids: &[u32]) -> Option<Self> {
        (request.heap && is_recorded).then(|| Self {
            since: Instant::now(),
            target: request.target.clone(),
            pids: pids.to_vec(),
            is_over: false,
        })
    }

    /// What is probably wrong, as long as there is no heap event.
    pub(super) fn look(&mut self, heap_events: u64) -> Option<String> {
        self.is_over |= heap_events > 0;
        if self.is_over || self.since.elapsed() < PATIENCE {
            return None;
        }
        let reason = self.reason();
        Some(format!("no heap event has come for {} s: {reason}", self.since.elapsed().as_secs()))
    }

    fn reason(&self) -> String {
        let pids = self.running();
        if let Some(pid) = pids.iter().find(|pid| processes::is_protected(**pid)) {
            return format!("process {pid} is protected, and Windows does not let its heaps be traced");
        }
        match &self.target {
            Target::Image(name) if pids.is_empty() => format!("no program called {name} runs; is that its name?"),
            Target::Image(name) if pids.iter().all(|pid| self.pids.contains(pid)) => {
                format!("{name} ran before the recording; end it and start it again, now that Windows knows its name")
            }
            Target::Pids(_) if pids.is_empty() => "the recorded programs have ended".to_owned(),
            Target::Pids(_) => "the program allocates nothing, or Windows does not trace it after its start: \
                                record it by its name, and start it again"
                .to_owned(),
            Target::Image(_) | Target::Launch(_) => "the program allocates nothing from Windows' heaps".to_owned(),
        }
    }

    /// Who of the target runs now.
    fn running(&self) -> Vec<u32> {
        let running = match &self.target {
            Target::Image(name) => processes::others_of_image(name),
            Target::Pids(_) | Target::Launch(_) => {
                processes::names().map(|all| all.into_iter().map(|(pid, _)| pid).filter(|pid| self.pids.contains(pid)).collect())
            }
        };
        // Where they cannot be listed nobody knows more.
        running.unwrap_or_default()
    }
}
