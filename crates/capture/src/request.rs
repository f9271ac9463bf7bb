//! Recording requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::constants::{MAX_FILTER_PIDS, SYSTEM_PROCESS};
use super::{CaptureError, StopWhen};
use crate::etl::Guid;
use crate::events::{TrackerProvider, TrackerProviders, class};

/// The processes to record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Running processes.
    Pids(Vec<u32>),
    /// All processes with this image file name.
    Image(String),
    /// A program to start, by its command line.
    Launch(String),
}

/// Child processes of recorded ones: a launcher often ends at once, and the game is its child.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Children {
    /// Whether their pages and trackers are recorded.
    pub are_recorded: bool,
    /// Image file name of the children whose heaps are recorded: Windows must know it before they start.
    pub with_heaps: Option<String>,
}

/// A ring buffer: how much of the past is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ring {
    /// The most recent events within this duration.
    Time(Duration),
    /// The most recent events within this size of the files, in bytes.
    Bytes(u64),
}

/// A provider whose events are blocks of a tracker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Allocator {
    /// The provider.
    pub provider: Guid,
    /// Ids of these events; empty for all events.
    pub ids: Vec<u16>,
}

impl Allocator {
    /// Those that the mapped providers of a user are; the ones that are built in are always recorded with trackers.
    pub fn of_users(trackers: &TrackerProviders) -> Vec<Self> {
        Self::of(trackers, |provider| !provider.is_built_in)
    }

    pub(super) fn built_in() -> Vec<Self> {
        // PIX is limited by keywords, so that its counters and marks come too.
        let all = Self::of(&TrackerProviders::default(), |_| true);
        all.into_iter().map(|one| if one.provider == class::PIX { Self { ids: Vec::new(), ..one } } else { one }).collect()
    }

    fn of(trackers: &TrackerProviders, is_wanted: impl Fn(&TrackerProvider) -> bool) -> Vec<Self> {
        let wanted = trackers.list().iter().filter(|provider| is_wanted(provider));
        wanted.map(|one| Self { provider: one.provider, ids: one.ids() }).collect()
    }
}

/// A recording request: which processes, which events, and how much of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The processes to record.
    pub target: Target,
    /// Their child processes.
    pub children: Children,
    /// Whether to record VirtualAlloc and VirtualFree.
    pub commit: bool,
    /// Whether to record Windows NT heaps.
    pub heap: bool,
    /// Whether to record custom heap trackers.
    pub trackers: bool,
    /// Further providers whose events are blocks of trackers; recorded whatever the layers.
    #[serde(default)]
    pub allocators: Vec<Allocator>,
    /// Whether to record presented frames.
    #[serde(default)]
    pub frames: bool,
    /// Whether to record the GPU memory of the processes.
    #[serde(default)]
    pub gpu: bool,
    /// Whether to record the names of managed code and the garbage collections of the .NET runtime.
    #[serde(default)]
    pub managed: bool,
    /// User-mode providers whose events become marks.
    #[serde(default)]
    pub marks: Vec<Guid>,
    /// Whether to record CPU samples with call stacks.
    #[serde(default)]
    pub samples: bool,
    /// Whether to record page faults with call stacks.
    #[serde(default)]
    pub faults: bool,
    /// Whether to record call stacks of allocations.
    pub stacks: bool,
    /// Whether to record call stacks of frees, too, which doubles the volume.
    pub free_stacks: bool,
    /// Keeps only the newest events; all if `None`.
    pub ring: Option<Ring>,
    /// Size of a session's buffers in bytes; `None` for the default.
    pub buffer_size: Option<u32>,
    /// Maximum number of buffers of a session; `None` for the default.
    pub buffers: Option<u32>,
    /// Conditions that end the recording: the first one that holds.
    pub stop_when: Vec<StopWhen>,
}

impl Request {
    /// A request for all layers with stacks of allocations and nothing else, keeping everything.
    pub fn new(target: Target) -> Self {
        Self {
            children: Children { are_recorded: matches!(target, Target::Launch(_)), with_heaps: None },
            target,
            commit: true,
            heap: true,
            trackers: true,
            allocators: Vec::new(),
            frames: false,
            gpu: false,
            managed: false,
            marks: Vec::new(),
            samples: false,
            faults: false,
            stacks: true,
            free_stacks: false,
            ring: None,
            buffer_size: None,
            buffers: None,
            stop_when: Vec::new(),
        }
    }

    /// Whether blocks of any tracker are recorded.
    pub fn has_trackers(&self) -> bool {
        self.trackers || !self.allocators.is_empty()
    }

    /// Checks that the request is possible.
    pub fn check(&self) -> Result<(), CaptureError> {
        let bad = |reason: &str| Err(CaptureError::BadRequest(reason.to_owned()));
        if !(self.commit || self.heap || self.has_trackers()) {
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
        if self.allocators.len() > MAX_ALLOCATORS {
            return bad("at most 64 providers of allocators can be recorded");
        }
        if self.marks.iter().any(|guid| NOT_FOR_MARKS.contains(guid)) {
            return bad("trackers, frames, GPU memory and the .NET runtime are recorded by options of their own, not as marks");
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

/// Maximum number of conditions: more than anybody needs, and each takes a line in the panel.
pub const MAX_CONDITIONS: usize = 8;
const MIN_RING: u64 = 16 << 20;
/// Maximum number of providers for marks. A session can hold more, but nobody names so many.
const MAX_MARKS: usize = 16;
/// Maximum number of providers of allocators beside those that are built in.
const MAX_ALLOCATORS: usize = 64;
/// Providers that cannot be recorded for marks: with all their events they would write heap dumps and worse.
const NOT_FOR_MARKS: [Guid; 7] =
    [class::CUSTOM_HEAP, class::MIMALLOC, class::CLR, class::CLR_RUNDOWN, class::DXGI, class::D3D9, class::DXG_KRNL];

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
            Request { marks: vec![class::MIMALLOC], ..of(Target::Pids(vec![10])) },
            Request {
                allocators: vec![Allocator { provider: class::MULTI_MAIN, ids: vec![1] }; 65],
                ..of(Target::Pids(vec![10]))
            },
        ];
        for request in refused {
            assert!(matches!(request.check(), Err(CaptureError::BadRequest(_))), "{request:?}");
        }
    }
}
