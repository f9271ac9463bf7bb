//! Finds and cleans up leftovers of recordings that no longer run: sessions, which outlive their process, and
//! `TracingFlags`. Cleaning up needs administrator rights. Finding `TracingFlags` needs none; sessions are listed only
//! for users who may query them, and for other users there are [`Notes`].

use std::time::Duration;

use super::processes;
use super::refusal::Refusal;
use super::window_recorder::RECORDER;
use super::{session, tracing_flags};
use crate::properties::SESSION_PREFIX;
use crate::{CaptureError, Leftovers, Notes};

/// Programs that record: the names of their sessions contain their process id.
const RECORDERS: [&str; 2] = ["highwater.exe", RECORDER];

/// Finds the leftovers. Sessions of this process are not among them.
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

/// Stops and restores all leftovers; returns what was cleaned up.
pub fn clean_up() -> Result<Leftovers, CaptureError> {
    stop_and_restore(sessions(|pid| pid == std::process::id()).map_err(refused)?)
}

/// Removes the notes about recorders that no longer run, after their leftovers were cleaned up.
pub(super) fn forget(notes: &Notes) -> Result<(), CaptureError> {
    let running = recorders().map_err(refused)?;
    notes.left(up(), |pid| pid == std::process::id() || running.contains(&pid), |_| false);
    Ok(())
}

/// Time since the system was started.
fn up() -> Duration {
    Duration::from_millis(super::machine::up())
}

/// Cleans up before this process starts any session: sessions with its process id are left by an earlier process.
pub(super) fn clean_up_before_the_first() -> Result<Leftovers, CaptureError> {
    stop_and_restore(sessions(|_| false).map_err(refused)?)
}

/// Stops the sessions and restores `TracingFlags`. If one session cannot be stopped, the others still are.
fn stop_and_restore(sessions: Vec<String>) -> Result<Leftovers, CaptureError> {
    let stopped = sessions.iter().map(|name| session::stop(name)).fold(Ok(()), Result::and);
    let restored = tracing_flags::restore_leftovers();
    stopped.map_err(refused)?;
    let images = restored.map_err(|error| refused(Refusal::from_io("TracingFlags", &error)))?;
    Ok(Leftovers { sessions, images })
}

/// Our sessions, except those of processes that `is_own` accepts and of running recorders.
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

/// Process ids of all running recorders.
fn recorders() -> Result<Vec<u32>, Refusal> {
    let own_name = tracing_flags::own_name();
    let is_recorder = |image: &str| RECORDERS.iter().chain([&own_name.as_str()]).any(|name| name.eq_ignore_ascii_case(image));
    Ok(processes::names()?.into_iter().filter(|(_, image)| is_recorder(image)).map(|(pid, _)| pid).collect())
}

/// The process id in the name of a session.
fn pid_of(name: &str) -> Option<u32> {
    name.strip_prefix(SESSION_PREFIX)?.split('-').next()?.parse().ok()
}

fn not_found(refusal: Refusal) -> CaptureError {
    refusal.while_trying("what an earlier recording left could not be looked for")
}

fn refused(refusal: Refusal) -> CaptureError {
    refusal.while_trying("what an earlier recording left could not be cleaned up")
}
