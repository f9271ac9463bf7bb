//! Who records, for whoever shows it: on Windows an elevated program of its own, in
//! tests one of theirs. All calls may wait (for the system, for the user's answer to a
//! question of the system), so they belong on a worker.

use std::fmt::Debug;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CaptureError, Cost, Request};

/// A program that can be recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Process id.
    pub pid: u32,
    /// File name of its image.
    pub name: String,
    /// Title of its window, if it has one.
    pub title: String,
    /// Whose it is; empty if this user may not know.
    pub user: String,
    /// Bytes that are its own.
    pub private_bytes: Option<u64>,
    /// Whether it is a 32-bit program; `None` if this user may not know.
    pub is_32_bit: Option<bool>,
    /// Whether its window was the last in front, but for ours.
    pub is_in_front: bool,
}

/// How a running recording goes. All numbers but those of buffers count from the start.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pulse {
    /// Events that came.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that were lost.
    pub lost_events: u64,
    /// Buffers that were lost.
    pub lost_buffers: u64,
    /// Buffers of all sessions that are waiting to be read, and all.
    pub buffers_in_use: u64,
    /// See `buffers_in_use`.
    pub buffers: u64,
    /// What goes wrong now, in a sentence.
    pub failure: Option<String>,
    /// It is over by itself, and why, in words that follow "the recording ended:". Whoever watches it
    /// ends it.
    pub ends: Option<String>,
    /// What recording takes, if that is known.
    pub cost: Option<Cost>,
}

/// What recordings that do not run any more have left in the system.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Leftovers {
    /// Names of sessions of ETW that still run.
    pub sessions: Vec<String>,
    /// File names of images of which every start is still traced (`TracingFlags`).
    pub images: Vec<String>,
}

impl Leftovers {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.images.is_empty()
    }

    /// One line for each of them, for people.
    pub fn lines(&self) -> Vec<String> {
        let sessions = self.sessions.iter().map(|name| format!("the session {name}"));
        sessions.chain(self.images.iter().map(|name| format!("heap tracing of every start of {name}"))).collect()
    }
}

/// Somebody who can record.
pub trait Recorder: Debug + Send + Sync {
    /// The window in whose name the system asks the user, by its number (`HWND`).
    fn set_window(&self, _window: isize) {}

    /// What recordings that do not run any more have left. Needs no rights.
    fn leftovers(&self) -> Result<Leftovers, CaptureError> {
        Ok(Leftovers::default())
    }

    /// Stops and puts back what they have left, after the system has asked the user; what
    /// that was.
    fn clean_up(&self) -> Result<Leftovers, CaptureError> {
        Ok(Leftovers::default())
    }

    /// The programs that run now, in any order.
    fn programs(&self) -> Result<Vec<Program>, CaptureError>;

    /// Begins to record into `folder`, which may not exist yet.
    fn start(&self, request: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError>;
}

/// What is to be said of a recording that has become a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Aftermath {
    /// Nothing.
    #[default]
    Fine,
    /// Who recorded was ended from outside: what it started in the system may still run.
    CutShort,
    /// What could not be stopped or put back.
    Failed(String),
}

/// A recording that runs. Dropping it ends it as well as that can be done.
pub trait Running: Debug + Send {
    /// How it goes; [`CaptureError::Ended`] once nothing comes any more.
    fn pulse(&mut self) -> Result<Pulse, CaptureError>;

    /// Ends it, completes the lanes, and makes one trace of them. They stay where they
    /// are: somebody may still read them.
    fn finish(&mut self, out: &Path) -> Result<(), CaptureError>;

    /// What went wrong at the end although there is a trace; to be asked after
    /// [`finish`](Self::finish).
    fn aftermath(&self) -> Aftermath {
        Aftermath::Fine
    }
}
