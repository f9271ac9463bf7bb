//! Finds the likely reason when no heap event comes.
//!
//! Windows traces the heaps of a process if its id was given, or its image name before it started. It reports nothing
//! if that does not work: for a protected process, a wrong name, a process that ran before.

use std::time::{Duration, Instant};

use super::processes;
use crate::{Request, Target};

/// Time without heap events before a reason is given. Events arrive within a second or two, and a program rarely does
/// nothing for so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// The wait for the first heap event.
#[derive(Debug)]
pub(super) struct Silence {
    since: Instant,
    target: Target,
    /// The processes that ran when the recording started.
    pids: Vec<u32>,
    is_over: bool,
}

impl Silence {
    /// For a recording that starts now; `None` if heaps are not recorded.
    pub(super) fn new(request: &Request, is_recorded: bool, pids: &[u32]) -> Option<Self> {
        (request.heap && is_recorded).then(|| Self {
            since: Instant::now(),
            target: request.target.clone(),
            pids: pids.to_vec(),
            is_over: false,
        })
    }

    /// The probable problem, as long as there is no heap event.
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

    /// The target's processes that run now.
    fn running(&self) -> Vec<u32> {
        let running = match &self.target {
            Target::Image(name) => processes::others_of_image(name),
            Target::Pids(_) | Target::Launch(_) => {
                processes::names().map(|all| all.into_iter().map(|(pid, _)| pid).filter(|pid| self.pids.contains(pid)).collect())
            }
        };
        // If processes cannot be listed, there is no better answer.
        running.unwrap_or_default()
    }
}
