//! A recording: lanes in a folder, written by consumers, watched by anybody.
//!
//! Lanes exist from the start, each with its header: `kernel.etl`, and `heap.etl` and
//! `user.etl`, or in a ring their numbered parts. What names heaps and trackers does
//! not wrap: in a ring it goes to `context.etl`. So a lane that was never completed
//! (a crash) is a trace like any other, but for the totals of its header.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Instant, SystemTime};

use super::lane::{CONTEXT, Plan, Shared};
use super::merge::merge;
use super::ring::Keeper;
use super::{CaptureError, Folder, Images, Lane, Ring, Status, Summary};
use crate::etl::write::{Loss, NewEvent};
use crate::etl::{ClockKind, EventId, SessionHeader, mode};
use crate::events::{class, hook, tracker};

/// A buffer of this size takes every event that ETW can log.
pub const BUFFER_SIZE: u32 = 128 << 10;

/// What a recording must know of the machine and of its clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Ticks a second of the performance counter.
    pub frequency: u64,
    /// The counter at the start, ...
    pub start_ticks: i64,
    /// ... and the system's time then, FILETIME.
    pub start_time: i64,
    /// Start of the machine, FILETIME.
    pub boot_time: i64,
    /// Number of processors, 1 to 2048.
    pub processors: u32,
    /// Version of the system: major, minor, build.
    pub os: (u8, u8, u32),
    /// Bytes of one buffer in our files; [`BUFFER_SIZE`] if there is no reason for another.
    pub buffer_size: u32,
    /// Bytes of a pointer of the system.
    pub pointer_size: u8,
}

impl Session {
    fn header(&self, logger: String) -> SessionHeader {
        SessionHeader {
            buffer_size: self.buffer_size,
            os: self.os,
            processors: self.processors,
            pointer_size: self.pointer_size.into(),
            mode: mode::SEQUENTIAL,
            clock: ClockKind::Qpc,
            frequency: self.frequency,
            start_ticks: self.start_ticks,
            start_time: self.start_time,
            boot_time: self.boot_time,
            logger,
            ..SessionHeader::default()
        }
    }
}

/// The lanes of a running recording.
#[derive(Debug)]
pub struct Recording {
    folder: Folder,
    lanes: [Arc<Shared>; 3],
    /// What of a ring's lanes does not wrap.
    context: Option<Arc<Shared>>,
    keeper: Option<Arc<Keeper>>,
    keeps_lanes: bool,
    since: SystemTime,
}

impl Recording {
    /// Begins all lanes in a folder, which is made if need be and must not hold a
    /// recording already.
    pub fn create(folder: &Path, session: &Session, ring: Option<Ring>) -> Result<Self, CaptureError> {
        Self::create_in(Folder::make(folder)?, session, ring)
    }

    /// The same in a folder that is there.
    pub fn create_in(folder: Folder, session: &Session, ring: Option<Ring>) -> Result<Self, CaptureError> {
        let keeper = ring.map(|ring| Arc::new(Keeper::new(ring, session.frequency, folder.clone())));
        let begin = |lane: Lane, name: &'static str, keeper: Option<&Arc<Keeper>>| {
            let header = session.header(format!("highwater {name}"));
            Shared::create(Plan { folder: folder.clone(), lane, name, header, keeper: keeper.cloned() })
        };
        let lane = |lane: Lane| begin(lane, lane.name(), keeper.as_ref().filter(|_| lane.wraps()));
        Ok(Self {
            lanes: [lane(Lane::Kernel)?, lane(Lane::Heap)?, lane(Lane::User)?],
            context: keeper.as_ref().map(|_| begin(Lane::User, CONTEXT, None)).transpose()?,
            folder,
            keeper,
            keeps_lanes: false,
            since: SystemTime::now(),
        })
    }

    /// The same, but lanes stay when they have become a trace: somebody may still read them.
    pub fn keep_lanes(self) -> Self {
        Self { keeps_lanes: true, ..self }
    }

    /// Where the lanes are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A way to write to a lane, one for each thread that does.
    pub fn lane(&self, lane: Lane) -> LaneWriter {
        let context = self.context.clone().filter(|_| lane.wraps());
        LaneWriter { lane: Arc::clone(&self.lanes[lane as usize]), context }
    }

    /// How it goes. Waits for nobody who writes.
    pub fn status(&self) -> Status {
        let mut lanes = Lane::ALL.map(|lane| self.lanes[lane as usize].numbers.status(lane));
        if let Some(context) = &self.context {
            lanes[Lane::User as usize].include(context.numbers.status(Lane::User));
        }
        for status in &mut lanes {
            status.on_disk += self.keeper.as_ref().map_or(0, |keeper| keeper.bytes_of(status.lane));
        }
        Status { since: self.since, lanes }
    }

    /// Flushes what has waited for a second, in lanes too to which nothing comes just
    /// now, and drops what a ring need not keep. To be called about once a second.
    pub fn flush_if_due(&self, now: Instant) -> Result<(), CaptureError> {
        if let Some(keeper) = &self.keeper {
            keeper.prune(self.last_time());
        }
        self.all().map(|lane| lane.flush_if_due(now)).fold(Ok(()), Result::and)
    }

    /// Ends all lanes and makes one trace of them, which replaces a file that is there.
    /// `progress` is told bytes done and bytes in all, and says whether to go on. After
    /// an error the lanes are still in the folder: [`recover`](super::recover) tries again.
    pub fn finish(
        self,
        out: &Path,
        images: &mut dyn Images,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Summary, CaptureError> {
        for lane in self.all() {
            // What cannot be written is lost, and counted as such.
            let _ = lane.end();
        }
        let from = self.keeper.as_ref().and_then(|keeper| keeper.from(self.last_time())).unwrap_or(i64::MIN);
        merge(self.folder.path(), out, from, self.keeps_lanes, images, progress)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.lanes.iter().chain(&self.context)
    }

    fn last_time(&self) -> i64 {
        self.all().map(|lane| lane.numbers.last_time.load(Relaxed)).max().unwrap_or(i64::MIN)
    }
}

/// Writes to one lane.
#[derive(Clone, Debug)]
pub struct LaneWriter {
    lane: Arc<Shared>,
    context: Option<Arc<Shared>>,
}

impl LaneWriter {
    /// Takes an event over: one copy, nothing allocated. Where there is no room for
    /// it, it is lost and counted; that is told once, until there is room again. The
    /// one error that does not go away is [`CaptureError::Ended`].
    pub fn take(&mut self, event: &NewEvent<'_>) -> Result<(), CaptureError> {
        match &self.context {
            Some(context) if names_something(event.id) => context.take(event),
            _ => self.lane.take(event),
        }
    }

    /// Notes what the session lost after `since`, a raw time up to which nothing was missing.
    pub fn lost(&mut self, since: i64, loss: Loss) -> Result<(), CaptureError> {
        self.lane.lost(since, loss)
    }

    /// Flushes what has waited for a second.
    pub fn flush_if_due(&mut self, now: Instant) -> Result<(), CaptureError> {
        self.lane.flush_if_due(now)
    }
}

/// Whether an event tells what later ones mean: heaps and trackers begin and end.
fn names_something(id: EventId) -> bool {
    match id {
        EventId::Hook(hook) => matches!(hook, hook::HEAP_CREATE | hook::HEAP_DESTROY),
        EventId::Class { class: class::HEAP, opcode } => {
            [hook::HEAP_CREATE, hook::HEAP_DESTROY].contains(&(0x1000 | u16::from(opcode)))
        }
        EventId::Provider { provider: class::CUSTOM_HEAP, id } => matches!(id, tracker::OPEN | tracker::CLOSE),
        _ => false,
    }
}
