//! A recording: lanes in a folder, written by consumers, watched by anybody.
//!
//! Lanes exist from the start, each with its header: the context, which is never cut, and the
//! numbered parts of the others. What a session tells of names goes to the context, each
//! session's to a file of its own, so that every file is nearly in the order of time. A
//! lane that was never completed (a crash) is a trace like any other, but for the totals of
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
    /// Those that are cut into parts.
    lanes: [Arc<Shared>; 3],
    /// What names things in each of them.
    contexts: [Arc<Shared>; 3],
    keeper: Arc<Keeper>,
    keeps_lanes: bool,
    since: SystemTime,
    storage: Storage,
    room: Mutex<Room>,
}

/// Whether there is room on disk, as far as that is known.
#[derive(Debug, Default)]
struct Room {
    looked: Option<Instant>,
    /// Why the recording should end. It stays.
    end: Option<String>,
}

/// The lanes that are cut, in their order.
const CUT: [Lane; 3] = [Lane::Pages, Lane::Heap, Lane::User];

impl Recording {
    /// Begins all lanes in a folder, which is made if need be and must not hold a
    /// recording already.
    pub fn create(folder: &Path, session: &Session, ring: Option<Ring>) -> Result<Self, CaptureError> {
        Self::create_on(folder, session, ring, Storage::default())
    }

    /// The same, and says how the disk is used.
    pub fn create_on(folder: &Path, session: &Session, ring: Option<Ring>, storage: Storage) -> Result<Self, CaptureError> {
        Self::create_in(Folder::make(folder)?, session, ring, storage)
    }

    /// The same in a folder that is there.
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
            // The first of them stands for the recording.
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

    /// The same, but lanes stay when they have become a trace: somebody may still read them.
    pub fn keep_lanes(self) -> Self {
        Self { keeps_lanes: true, ..self }
    }

    /// Where the lanes are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A way to write to a lane, one for each thread that does. What names things is put into
    /// the context, whichever lane it comes with.
    pub fn lane(&self, lane: Lane) -> LaneWriter {
        let index = CUT.iter().position(|&cut| cut == lane);
        let context = Arc::clone(&self.contexts[index.unwrap_or(0)]);
        LaneWriter { lane: Arc::clone(index.map_or(&context, |index| &self.lanes[index])), context }
    }

    /// How it goes. Waits for nobody who writes.
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

    /// Flushes what has waited for a second, in lanes too to which nothing comes just
    /// now, drops what a ring need not keep, and looks how much room there is. To be called
    /// about once a second.
    pub fn flush_if_due(&self, now: Instant) -> Result<(), CaptureError> {
        self.keeper.prune(self.last_time());
        self.look_for_room(now);
        self.all().map(|lane| lane.flush_if_due(now)).fold(Ok(()), Result::and)
    }

    /// Why it should end, as a sentence for people: the disk is nearly full. Lanes go on until
    /// they are ended.
    pub fn is_out_of_room(&self) -> Option<String> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).end.clone()
    }

    /// Once a second at most.
    fn look_for_room(&self, now: Instant) {
        const SOON: Duration = Duration::from_millis(900);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.end.is_none() && room.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= SOON) {
            room.looked = Some(now);
            room.end = self.storage.end_of_room(self.folder.path());
        }
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
    /// Takes an event over: one copy, nothing allocated. Where there is no room for
    /// it, it is lost and counted; that is told once, until there is room again. The
    /// one error that does not go away is [`CaptureError::Ended`].
    pub fn take(&mut self, event: &NewEvent<'_>) -> Result<(), CaptureError> {
        if names_something(event.id) { self.context.take(event) } else { self.lane.take(event) }
    }

    /// Notes what the session lost after `since`, a raw time up to which nothing was missing.
    pub fn lost(&mut self, since: i64, loss: Loss) -> Result<(), CaptureError> {
        self.lane.lost(since, loss)
    }

    /// Flushes what has waited for a second.
    pub fn flush_if_due(&mut self, now: Instant) -> Result<(), CaptureError> {
        self.context.flush_if_due(now).and(self.lane.flush_if_due(now))
    }
}

/// Whether an event tells what others mean: processes, threads, images, heaps and trackers, code and
/// modules of the .NET runtime, descriptions of events, how far apart samples are.
fn names_something(id: EventId) -> bool {
    match id {
        EventId::Provider { provider: class::CUSTOM_HEAP, id } => return matches!(id, tracker::OPEN | tracker::CLOSE),
        // Methods, modules of domains, modules; at the start and at the end, too. Not what a method's compilation begins with.
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
