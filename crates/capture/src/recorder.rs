//! The interface between the window and a recorder: on Windows an elevated program of its own, in tests a fake. All
//! calls may block (on the system, or on the user's answer to a system prompt), so they belong on a worker thread.

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
    /// The user who runs it; empty if this user may not know.
    pub user: String,
    /// Its private bytes, if known.
    pub private_bytes: Option<u64>,
    /// Whether it is a 32-bit program; `None` if this user may not know.
    pub is_32_bit: Option<bool>,
    /// Whether its window is the frontmost one, not counting ours.
    pub is_in_front: bool,
}

/// The state of a running recording. All numbers except those of buffers count from its start.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pulse {
    /// Events received.
    pub events: u64,
    /// Bytes of these events.
    pub bytes: u64,
    /// Lost events.
    pub lost_events: u64,
    /// Lost buffers.
    pub lost_buffers: u64,
    /// Buffers of all sessions that wait to be read.
    pub buffers_in_use: u64,
    /// Total buffers of all sessions.
    pub buffers: u64,
    /// A current problem, as a sentence.
    pub failure: Option<String>,
    /// Why the recording should end, in words that follow "the recording ended:"; `None` while it should go on. The
    /// watcher has to end it.
    pub ends: Option<String>,
    /// The recorder's memory and CPU use, if known.
    pub cost: Option<Cost>,
}

/// Leftovers in the system from recordings that no longer run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Leftovers {
    /// Names of ETW sessions that still run.
    pub sessions: Vec<String>,
    /// File names of images for which heap tracing at start is still on (`TracingFlags`).
    pub images: Vec<String>,
}

impl Leftovers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.images.is_empty()
    }

    /// One line of text for each, for the user.
    pub fn lines(&self) -> Vec<String> {
        let sessions = self.sessions.iter().map(|name| format!("the session {name}"));
        sessions.chain(self.images.iter().map(|name| format!("heap tracing of every start of {name}"))).collect()
    }
}

/// A means of recording.
pub trait Recorder: Debug + Send + Sync {
    /// Sets the window (`HWND`) that owns the system's prompts.
    fn set_window(&self, _window: isize) {}

    /// Finds leftovers of recordings that no longer run. Needs no rights.
    fn leftovers(&self) -> Result<Leftovers, CaptureError> {
        Ok(Leftovers::default())
    }

    /// Stops and restores leftovers, after the system has asked the user. Returns what was cleaned up.
    fn clean_up(&self) -> Result<Leftovers, CaptureError> {
        Ok(Leftovers::default())
    }

    /// The running programs, in any order.
    fn programs(&self) -> Result<Vec<Program>, CaptureError>;

    /// Starts to record into `folder`, which need not exist yet.
    fn start(&self, request: &Request, folder: &Path) -> Result<Box<dyn Running>, CaptureError>;
}

/// The outcome of ending a recording whose trace was saved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Aftermath {
    /// Everything was stopped and restored.
    #[default]
    Fine,
    /// The recorder was killed: sessions that it started may still run.
    CutShort,
    /// Something could not be stopped or restored; a description.
    Failed(String),
}

/// A running recording. Dropping it ends it as far as possible.
pub trait Running: Debug + Send {
    /// Its state; [`CaptureError::Ended`] once no more events come.
    fn pulse(&mut self) -> Result<Pulse, CaptureError>;

    /// Ends the recording, completes the lanes and merges them into one trace. The lanes stay, since they may still be read.
    fn finish(&mut self, out: &Path) -> Result<(), CaptureError>;

    /// Problems at the end that did not prevent the trace; ask after [`finish`](Self::finish).
    fn aftermath(&self) -> Aftermath {
        Aftermath::Fine
    }
}
