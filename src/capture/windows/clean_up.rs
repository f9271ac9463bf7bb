//! What recordings that do not run any more have left in the system: sessions, which outlive
//! their process, and `TracingFlags`. To put it right needs rights. To look needs none for `TracingFlags`; sessions are
//! listed for who may ask about them, and for others there are [`Notes`].

use std::time::Duration;

use super::processes;
use super::refusal::Refusal;
use super::{session, tracing_flags};
use crate::capture::properties::SESSION_PREFIX;
use crate::capture::{CaptureError, Leftovers, Notes};

/// Programs that record, and so have their id in the name of a session.
const RECORDERS: [&str; 2] = ["highwater.exe", super::RECORDER];

/// What is there. What this process started itself is not left.
pub(super) fn find(notes: Option<&Notes>) -> Result<Leftovers, CaptureError> {
    let mut sessions = sessions(|pid| pid == std::process::id()).map_err(not_found)?;
    if let Some(notes) = notes {
        let running = recorders().map_err(not_found)?;
        let noted = notes.left(up(), |pid| pid == std::process::id() || running.contains(&pid), session::may_run);
        sessions.extend(noted.into_iter().filter(|name| !sessions.contains(name)).collect::<Vec<_>>());
    }
    let images = tracing_flags::leftovers().map_err(|error| not_found(Refusal::from_io("TracingFlags", &error)))?;
    Ok(Leftovers { sessions, images })
}

/// Stops and puts back what is there; what that was.
pub fn clean_up() -> Result<Leftovers, CaptureError> {
    stop_and_restore(sessions(|pid| pid == std::process::id()).map_err(refused)?)
}

/// Forgets what is written down of recorders that do not run any more: what they left was cleaned up.
pub(super) fn forget(notes: &Notes) -> Result<(), CaptureError> {
    let running = recorders().map_err(refused)?;
    notes.left(up(), |pid| pid == std::process::id() || running.contains(&pid), |_| false);
    Ok(())
}

/// How long the system runs.
fn up() -> Duration {
    Duration::from_millis(super::machine::up())
}

/// The same before this process starts any session: those with its id are an earlier one's.
pub(super) fn clean_up_before_the_first() -> Result<Leftovers, CaptureError> {
    stop_and_restore(sessions(|_| false).map_err(refused)?)
}

/// One that cannot be stopped does not keep the others from it.
fn stop_and_restore(sessions: Vec<String>) -> Result<Leftovers, CaptureError> {
    let stopped = sessions.iter().map(|name| session::stop(name)).fold(Ok(()), Result::and);
    let restored = tracing_flags::restore_leftovers();
    stopped.map_err(refused)?;
    let images = restored.map_err(|error| refused(Refusal::from_io("TracingFlags", &error)))?;
    Ok(Leftovers { sessions, images })
}

/// Our sessions whose process is neither one of these nor a recorder that runs.
fn sessions(is_own: impl Fn(u32) -> bool) -> Result<Vec<String>, Refusal> {
    let all = session::running()?.into_iter().map(|known| known.name);
    let names: Vec<String> = all.filter(|name| name.starts_with(SESSION_PREFIX)).collect();
    if names.is_empty() {
        return Ok(names);
    }
    let running = recorders()?;
    let is_alive = |pid: u32| is_own(pid) || pid != std::process::id() && running.contains(&pid);
    Ok(names.into_iter().filter(|name| !pid_of(name).is_some_and(is_alive)).collect())
}

/// Ids of the processes that may record now.
fn recorders() -> Result<Vec<u32>, Refusal> {
    let own_name = tracing_flags::own_name();
    let is_recorder = |image: &str| RECORDERS.iter().chain([&own_name.as_str()]).any(|name| name.eq_ignore_ascii_case(image));
    Ok(processes::names()?.into_iter().filter(|(_, image)| is_recorder(image)).map(|(pid, _)| pid).collect())
}

/// Whose a session is, by its name.
fn pid_of(name: &str) -> Option<u32> {
    name.strip_prefix(SESSION_PREFIX)?.split('-').next()?.parse().ok()
}

fn not_found(refusal: Refusal) -> CaptureError {
    refusal.while_trying("what an earlier recording left could not be looked for")
}

fn refused(refusal: Refusal) -> CaptureError {
    refusal.while_trying("what an earlier recording left could not be cleaned up")
}
