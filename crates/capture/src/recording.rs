//! A recording: lanes in a folder, written by consumers. Anyone may read its state.
//!
//! All files exist from the start, each with its header: the context, which is never cut, and the numbered parts of the
//! other lanes. Context events go to the context file of their session; one file per session keeps each file nearly in
//! the order of time. A lane that was never completed (after a crash) is an ordinary trace, except for the totals in
//! its header.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::constants::MANIFEST_EVENT;
use super::files::context_of;
use super::lane::{Plan, Shared};
use super::merge::{Job, merge};
use super::ring::Keeper;
use super::{CaptureError, Folder, Images, Lane, Ring, Status, Storage, Summary};
use crate::etl::write::{Loss, NewEvent};
use crate::etl::{ClockKind, EventId, SessionHeader, mode};
use crate::events::{class, hook, kernel_hook, tracker};

/// Size of a buffer in bytes that has room for every event that ETW can log.
pub const BUFFER_SIZE: u32 = 128 << 10;

/// The facts about the machine and its clock that a recording needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Ticks of the performance counter in a second.
    pub frequency: u64,
    /// The performance counter at the start.
    pub start_ticks: i64,
    /// The system time at the start, as FILETIME.
    pub start_time: i64,
    /// The boot time of the machine, as FILETIME.
    pub boot_time: i64,
    /// Number of CPUs, 1 to 2048.
    pub processors: u32,
    /// Windows version: major, minor, build.
    pub os: (u8, u8, u32),
    /// Size of a buffer in our files, in bytes; normally [`BUFFER_SIZE`].
    pub buffer_size: u32,
    /// Size of a pointer on this system, in bytes.
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
    /// The lanes that are cut into parts.
    lanes: [Arc<Shared>; 3],
    /// The context file of each lane's session.
    contexts: [Arc<Shared>; 3],
    keeper: Arc<Keeper>,
    keeps_lanes: bool,
    since: SystemTime,
    storage: Storage,
    room: Mutex<Room>,
}

/// The last check of the disk space.
#[derive(Debug, Default)]
struct Room {
    looked: Option<Instant>,
    /// Why the recording should end. Once set, it does not change.
    end: Option<String>,
}

/// The lanes that are cut into parts, in their order.
const CUT: [Lane; 3] = [Lane::Pages, Lane::Heap, Lane::User];

impl Recording {
    /// Creates all lanes in a folder. The folder is created if necessary and must not hold a recording already.
    pub fn create(folder: &Path, session: &Session, ring: Option<Ring>) -> Result<Self, CaptureError> {
        Self::create_on(folder, session, ring, Storage::default())
    }

    /// Creates a recording like [`Recording::create`], with these storage settings.
    pub fn create_on(folder: &Path, session: &Session, ring: Option<Ring>, storage: Storage) -> Result<Self, CaptureError> {
        Self::create_in(Folder::make(folder)?, session, ring, storage)
    }

    /// Creates a recording in a folder that exists already.
    pub fn create_in(folder: Folder, session: &Session, ring: Option<Ring>, storage: Storage) -> Result<Self, CaptureError> {
        let keeper = Arc::new(Keeper::new(folder.clone(), ring, session.frequency, storage.part_bytes));
        let begin = |lane: Lane, name: &'static str, keeper: Option<&Arc<Keeper>>| {
            let header = session.header(format!("highwater {name}"));
            Shared::create(Plan { folder: folder.clone(), lane, name, header, keeper: keeper.cloned() })
        };
        let context = |lane: Lane| begin(Lane::Context, context_of(lane), None);
        let lane = |lane: Lane| begin(lane, lane.name(), Some(&keeper));
        let [pages, heap, user] = CUT;
        Ok(Self {
            // The first context file marks the folder as a recording.
            contexts: [context(pages)?, context(heap)?, context(user)?],
            lanes: [lane(pages)?, lane(heap)?, lane(user)?],
            folder,
            keeper: Arc::clone(&keeper),
            keeps_lanes: false,
            since: SystemTime::now(),
            storage,
            room: Mutex::default(),
        })
    }

    /// Keeps the lanes after they are merged into a trace, since they may still be read.
    pub fn keep_lanes(self) -> Self {
        Self { keeps_lanes: true, ..self }
    }

    /// The folder with the lanes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A writer for a lane; each thread needs its own. Context events go to the context, whichever lane is written to.
    pub fn lane(&self, lane: Lane) -> LaneWriter {
        let index = CUT.iter().position(|&cut| cut == lane);
        let context = Arc::clone(&self.contexts[index.unwrap_or(0)]);
        LaneWriter { lane: Arc::clone(index.map_or(&context, |index| &self.lanes[index])), context }
    }

    /// The state of the recording. Does not wait for writers.
    pub fn status(&self) -> Status {
        let [first, contexts @ ..] = &self.contexts;
        let mut context = first.numbers.status(Lane::Context);
        contexts.iter().for_each(|more| context.include(more.numbers.status(Lane::Context)));
        let [pages, heap, user] = [0, 1, 2].map(|index| {
            let mut status = self.lanes[index].numbers.status(CUT[index]);
            status.on_disk += self.keeper.bytes_of(CUT[index]);
            status
        });
        Status { since: self.since, lanes: [context, pages, heap, user] }
    }

    /// Flushes events that have waited for a second (also in lanes that receive no events at the moment), deletes parts
    /// that a ring no longer keeps, and checks the disk space. Call it about once a second.
    pub fn flush_if_due(&self, now: Instant) -> Result<(), CaptureError> {
        self.keeper.prune(self.last_time());
        self.look_for_room(now);
        self.all().map(|lane| lane.flush_if_due(now)).fold(Ok(()), Result::and)
    }

    /// Why the recording should end because the disk is nearly full, as a sentence for the user. Lanes accept events
    /// until they are ended.
    pub fn is_out_of_room(&self) -> Option<String> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).end.clone()
    }

    /// Checks the disk space, about once a second at most.
    fn look_for_room(&self, now: Instant) {
        const SOON: Duration = Duration::from_millis(900);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.end.is_none() && room.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= SOON) {
            room.looked = Some(now);
            room.end = self.storage.end_of_room(self.folder.path());
        }
    }

    /// Ends all lanes and merges them into one trace. An existing file is not replaced; that is an error. `progress`
    /// gets the bytes done and the total, and returns whether to go on. After an error the lanes are still in the
    /// folder, and [`recover`](super::recover) can try again.
    pub fn finish(
        self,
        out: &Path,
        images: &mut dyn Images,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Summary, CaptureError> {
        for lane in self.all() {
            // Events that cannot be written are counted as lost.
            let _ = lane.end();
        }
        let from = self.keeper.from(self.last_time()).unwrap_or(i64::MIN);
        let job = Job { folder: self.folder.path(), out, from, keep: self.keeps_lanes, storage: &self.storage };
        merge(&job, images, progress)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.contexts.iter().chain(&self.lanes)
    }

    fn last_time(&self) -> i64 {
        self.all().map(|lane| lane.numbers.last_time.load(Relaxed)).max().unwrap_or(i64::MIN)
    }
}

/// Writes to one lane.
#[derive(Clone, Debug)]
pub struct LaneWriter {
    lane: Arc<Shared>,
    context: Arc<Shared>,
}

impl LaneWriter {
    /// Writes an event: one copy, no allocation. If there is no room, the event is lost and counted; the error is
    /// reported once, until there is room again. The only permanent error is [`CaptureError::Ended`].
    pub fn take(&mut self, event: &NewEvent<'_>) -> Result<(), CaptureError> {
        if names_something(event.id) { self.context.take(event) } else { self.lane.take(event) }
    }

    /// Notes what the session lost after `since`, a raw time until which nothing was missing.
    pub fn lost(&mut self, since: i64, loss: Loss) -> Result<(), CaptureError> {
        self.lane.lost(since, loss)
    }

    /// Flushes events that have waited for a second.
    pub fn flush_if_due(&mut self, now: Instant) -> Result<(), CaptureError> {
        self.context.flush_if_due(now).and(self.lane.flush_if_due(now))
    }
}

/// Whether an event belongs to the context: processes, threads, images, heaps and trackers, code and modules of the
/// .NET runtime, descriptions of events, sampling intervals.
pub(super) fn names_something(id: EventId) -> bool {
    match id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id } => return matches!(id, tracker::OPEN | tracker::CLOSE),
        // Methods, domain modules and modules, including start and end rundown; not the start of a method's compilation.
        EventId::Provider { provider: class::CLR | class::CLR_RUNDOWN, id } => return matches!(id, 135..=144 | 149..=154),
        EventId::Provider { id, .. } => return id == MANIFEST_EVENT,
        _ => {}
    }
    matches!(
        kernel_hook(id),
        Some(
            hook::GROUP_MASKS
            | hook::PROCESS_START..=hook::PROCESS_RUNDOWN_END
            | hook::IMAGE_LOAD
            | hook::THREAD_START..=hook::THREAD_RUNDOWN_END
            | hook::THREAD_SET_NAME
            | hook::SAMPLE_INTERVAL
            | hook::SAMPLE_INTERVAL_START
            | hook::HEAP_CREATE
            | hook::HEAP_DESTROY
            | hook::IMAGE_UNLOAD..=hook::IMAGE_RUNDOWN_END,
        )
    )
}
