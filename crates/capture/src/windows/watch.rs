//! The processes of a recording: those at its start, those added later, and whether all have ended.
//!
//! Child processes are announced by the kernel session, about a second late. So if children are recorded, the recording
//! is over only some time after the last known process has ended.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::clock;
use super::consumer::lock;
use super::processes::{self, Watched};
use super::refusal::Refusal;
use crate::{Because, CaptureError, Followed, Request, Rules, Started, Target};

/// Events of the kernel session arrive within this time, usually well within.
const GRACE: Duration = Duration::from_secs(4);

/// The processes of a recording.
#[derive(Debug)]
pub(super) struct Processes {
    followed: Arc<Mutex<Followed>>,
    watched: Vec<Watched>,
    /// Whether the recording ends when all processes have ended; a recording by name waits for the next one.
    ends: bool,
    /// How long all processes must be gone before the recording ends.
    grace: Duration,
    gone_since: Option<Instant>,
    /// Child processes whose heaps are not recorded: id and name.
    without_heaps: Vec<(u32, String)>,
    /// `None` if heaps are not wanted; otherwise the image name of the children whose heaps are recorded.
    heaps_of: Option<Option<String>>,
}

impl Processes {
    /// The processes of a request, of which these run already.
    pub(super) fn new(request: &Request, pids: &[u32]) -> Self {
        let names = match &request.target {
            Target::Image(name) => vec![name.clone()],
            Target::Pids(_) | Target::Launch(_) => request.children.with_heaps.iter().cloned().collect(),
        };
        let rules = Rules { pids: pids.to_vec(), names, children: request.children.are_recorded };
        let ends = !matches!(request.target, Target::Image(_));
        Self {
            followed: Arc::new(Mutex::new(Followed::new(&rules, clock::frequency()))),
            watched: pids.iter().filter(|_| ends).filter_map(|pid| Watched::new(*pid).ok()).collect(),
            ends,
            grace: if rules.children { GRACE } else { Duration::ZERO },
            gone_since: None,
            without_heaps: Vec::new(),
            heaps_of: request.heap.then(|| request.children.with_heaps.clone()),
        }
    }

    /// The filter, for the kernel session's consumer.
    pub(super) fn followed(&self) -> &Arc<Mutex<Followed>> {
        &self.followed
    }

    /// Ids of the recorded processes that have not ended.
    pub(super) fn pids(&self) -> Vec<u32> {
        lock(&self.followed).pids()
    }

    /// Processes the news from the kernel session; returns the ids of processes that were added.
    pub(super) fn look(&mut self) -> Vec<u32> {
        let news = lock(&self.followed).news();
        let mut more = Vec::new();
        for Started { pid, name, because, .. } in news {
            if because == Because::Told {
                continue;
            }
            more.push(pid);
            if self.ends {
                // A process that has ended by now need not be watched.
                self.watched.extend(Watched::new(pid).ok());
                self.gone_since = None;
            }
            let has_heaps = match &self.heaps_of {
                Some(image) => image.as_ref().is_some_and(|image| image.eq_ignore_ascii_case(&name)),
                None => true,
            };
            const MOST_TOLD: usize = 4;
            if because == Because::Parent && !has_heaps && self.without_heaps.len() < MOST_TOLD {
                self.without_heaps.push((pid, name));
            }
        }
        self.watched.retain(Watched::is_running);
        more
    }

    /// Whether all have ended, so that the recording is over.
    pub(super) fn are_gone(&mut self) -> bool {
        if !self.ends || self.watched.iter().any(Watched::is_running) {
            self.gone_since = None;
            return false;
        }
        self.gone_since.get_or_insert_with(Instant::now).elapsed() >= self.grace
    }

    /// The parts of them that are not recorded, as sentences.
    pub(super) fn shortfalls(&self) -> impl Iterator<Item = String> {
        const HIDDEN: &str = "the kernel's frames have no names: Windows does not tell this account where its modules are \
                              (it lacks SeDebugPrivilege)";
        let hidden = lock(&self.followed).hides_kernel().then(|| HIDDEN.to_owned());
        let without_heaps = self.without_heaps.iter().map(|(pid, name)| {
            format!(
                "{name} ({pid}) was started by a recorded program, and its heaps are not recorded: Windows must know \
                 its name before it starts (--name {name})"
            )
        });
        hidden.into_iter().chain(without_heaps)
    }
}

/// Ids of the target's processes that run already.
pub(super) fn running(target: &Target, launched: Option<u32>) -> Result<Vec<u32>, CaptureError> {
    let not_listed = |refusal: Refusal| refusal.while_trying("the processes could not be listed");
    match (target, launched) {
        (Target::Pids(pids), _) => {
            let all = processes::names().map_err(not_listed)?;
            match pids.iter().find(|pid| !all.iter().any(|(id, _)| id == *pid)) {
                Some(pid) => Err(CaptureError::BadRequest(format!("there is no process with the id {pid}"))),
                None => Ok(pids.clone()),
            }
        }
        (Target::Image(name), _) => processes::others_of_image(name).map_err(not_listed),
        (Target::Launch(_), launched) => Ok(launched.into_iter().collect()),
    }
}
