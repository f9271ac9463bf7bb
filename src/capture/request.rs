//! What to record.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::constants::{MAX_FILTER_PIDS, SYSTEM_PROCESS};
use super::{CaptureError, StopWhen};
use crate::etl::Guid;
use crate::events::class;

/// Whose memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Running processes.
    Pids(Vec<u32>),
    /// All that are started from now on from an image of this file name.
    Image(String),
    /// A program to start: its command line.
    Launch(String),
}

/// What of the programs that a recorded one starts: launchers end at once, and the game is
/// their child.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Children {
    /// Whether they are recorded too: pages and trackers.
    pub are_recorded: bool,
    /// File name of the image of those whose heaps are recorded: Windows has to know it before they start.
    pub with_heaps: Option<String>,
}

/// How much of the past is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ring {
    /// The last so long.
    Time(Duration),
    /// So many bytes of heap and user events in files.
    Bytes(u64),
}

/// What to record, of whom, and how much of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Whose memory.
    pub target: Target,
    /// And of what they start.
    pub children: Children,
    /// Pages: VirtualAlloc and VirtualFree.
    pub commit: bool,
    /// Windows NT heaps.
    pub heap: bool,
    /// Custom heap trackers.
    pub trackers: bool,
    /// Frames that programs show.
    #[serde(default)]
    pub frames: bool,
    /// What the .NET runtime tells: names of its code, and when it collects garbage.
    #[serde(default)]
    pub managed: bool,
    /// Providers of programs whose events are marks.
    #[serde(default)]
    pub marks: Vec<Guid>,
    /// Samples of what processors run, with call stacks.
    #[serde(default)]
    pub samples: bool,
    /// Call stacks of allocations.
    pub stacks: bool,
    /// Call stacks of frees too, which doubles the volume.
    pub free_stacks: bool,
    /// Keep only the newest; all if `None`.
    pub ring: Option<Ring>,
    /// Bytes of one of a session's buffers; `None` for the suggested size.
    pub buffer_size: Option<u32>,
    /// Most buffers of a session; `None` for the suggested number.
    pub buffers: Option<u32>,
    /// What ends the recording by itself: the first of these that holds.
    pub stop_when: Vec<StopWhen>,
}

impl Request {
    /// All layers with the stacks of allocations and nothing beside them, everything kept.
    pub fn new(target: Target) -> Self {
        Self {
            children: Children { are_recorded: matches!(target, Target::Launch(_)), with_heaps: None },
            target,
            commit: true,
            heap: true,
            trackers: true,
            frames: false,
            managed: false,
            marks: Vec::new(),
            samples: false,
            stacks: true,
            free_stacks: false,
            ring: None,
            buffer_size: None,
            buffers: None,
            stop_when: Vec::new(),
        }
    }

    /// Whether it can be done at all.
    pub fn check(&self) -> Result<(), CaptureError> {
        let bad = |reason: &str| Err(CaptureError::BadRequest(reason.to_owned()));
        if !(self.commit || self.heap || self.trackers) {
            return bad("there is nothing to record: choose commit, heap or trackers");
        }
        match &self.target {
            Target::Pids(pids) if pids.is_empty() => return bad("choose a program to record"),
            Target::Pids(pids) if pids.len() > MAX_FILTER_PIDS => return bad("at most 8 processes can be recorded together"),
            Target::Pids(pids) if pids.iter().any(|&pid| pid <= SYSTEM_PROCESS) => {
                return bad("the system's own processes cannot be recorded");
            }
            Target::Image(name) if !is_file_name(name) => return bad(WANTED_NAME),
            Target::Launch(command) if command.trim().is_empty() || command.contains('\0') => {
                return bad("there is no program to start");
            }
            _ => {}
        }
        if self.marks.len() > MAX_MARKS {
            return bad("at most 16 providers can be recorded for their marks");
        }
        if self.marks.iter().any(|guid| NOT_FOR_MARKS.contains(guid)) {
            return bad("trackers, frames and the .NET runtime are recorded by options of their own, not as marks");
        }
        if self.stop_when.len() > MAX_CONDITIONS {
            return bad("at most 8 conditions can end a recording");
        }
        if self.children.with_heaps.as_ref().is_some_and(|name| !is_file_name(name)) {
            return bad(WANTED_NAME);
        }
        match self.ring {
            Some(Ring::Time(time)) if time < Duration::from_secs(1) => bad("a ring keeps at least one second"),
            Some(Ring::Bytes(bytes)) if bytes < MIN_RING => bad("a ring keeps at least 16 MB"),
            _ => Ok(()),
        }
    }
}

const WANTED_NAME: &str = "give the file name of the program without its folder, for example game.exe";

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\\', '/', ':', '"', '*', '?', '\0'])
}

/// More than anybody needs, and a line in the panel each.
pub const MAX_CONDITIONS: usize = 8;
const MIN_RING: u64 = 16 << 20;
/// A session holds more; nobody names so many.
const MAX_MARKS: usize = 16;
/// All that these tell would be dumps of heaps and worse.
const NOT_FOR_MARKS: [Guid; 5] = [class::CUSTOM_HEAP, class::CLR, class::CLR_RUNDOWN, class::DXGI, class::D3D9];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_requests_are_refused_with_a_sentence() {
        let of = |target| Request::new(target);
        assert!(of(Target::Pids(vec![4660])).check().is_ok());
        assert!(of(Target::Image("game.exe".into())).check().is_ok());
        assert!(of(Target::Launch("game.exe -fast".into())).check().is_ok());
        let refused = [
            of(Target::Pids(vec![])),
            of(Target::Pids(vec![4])),
            of(Target::Pids((10..20).collect())),
            of(Target::Image(r"C:\game.exe".into())),
            of(Target::Launch(" ".into())),
            Request { commit: false, heap: false, trackers: false, ..of(Target::Pids(vec![10])) },
            Request { ring: Some(Ring::Time(Duration::ZERO)), ..of(Target::Pids(vec![10])) },
            Request { ring: Some(Ring::Bytes(1)), ..of(Target::Pids(vec![10])) },
            Request { stop_when: vec![StopWhen::Private(1); 9], ..of(Target::Pids(vec![10])) },
            Request { marks: vec![class::MULTI_MAIN; 17], ..of(Target::Pids(vec![10])) },
            Request { marks: vec![class::CLR], ..of(Target::Pids(vec![10])) },
        ];
        for request in refused {
            assert!(matches!(request.check(), Err(CaptureError::BadRequest(_))), "{request:?}");
        }
    }
}
