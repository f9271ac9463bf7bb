//! Decodes buffers ahead of the merge, on the workers of the thread pool.
//!
//! The merge asks for one buffer after the other, each at most once. Workers start them in the order in
//! which they will probably be needed. A buffer that is needed before a worker started it is decoded by
//! the thread that needs it, so nobody ever waits for work that is not already being done.
//!
//! Jobs can be added at any time, as a capture that is still being recorded grows. A buffer for which
//! there is no room is decoded by the merge itself, one part after the other ([`Room`]).
//!
//! Memory: a bounded number of decoded buffers, and of their bytes, given back by the
//! merge and reused.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use super::decode::{Wants, decode_part};
use super::room::Room;
use super::{Batch, MarkProviders, Stacks, TrackerProviders};
use crate::etl::{BufferInfo, ReadBuffer, TraceFile};

/// Fewer buffers than this are not worth a second thread.
const WORTH_WHILE: usize = 4;

/// A file, or the new part of a growing file.
#[derive(Clone, Debug)]
pub(super) enum FilePart<'f> {
    Whole(&'f TraceFile),
    Came(Arc<TraceFile>),
}

impl Deref for FilePart<'_> {
    type Target = TraceFile;

    fn deref(&self) -> &TraceFile {
        match self {
            Self::Whole(file) => file,
            Self::Came(file) => file,
        }
    }
}

/// One buffer to decode: its file, and its number there.
#[derive(Clone, Debug)]
pub(super) struct Job<'f> {
    pub(super) file: FilePart<'f>,
    pub(super) buffer: usize,
}

impl Job<'_> {
    pub(super) fn buffer(&self) -> &BufferInfo {
        &self.file.buffers[self.buffer]
    }
}

/// Buffers that are decoded or to be decoded.
#[derive(Debug)]
pub(super) struct Prefetch<'f> {
    wants: Wants,
    state: Mutex<State<'f>>,
    changed: Condvar,
    /// Read buffers to use again.
    scratch: Mutex<Vec<ReadBuffer>>,
    spare: Mutex<Spare>,
}

/// Batches that are kept for their memory.
#[derive(Debug, Default)]
struct Spare {
    batches: Vec<Batch>,
    bytes: usize,
}

#[derive(Debug)]
struct State<'f> {
    /// Number of the first of `jobs`; all before were taken.
    first: usize,
    jobs: VecDeque<(Job<'f>, Slot)>,
    /// The first job that no worker has looked at.
    next: usize,
    /// Batches that are being made or were not taken yet.
    prefetch: usize,
    /// Bytes that these batches take or may take.
    ahead_bytes: usize,
    /// Most batches ahead.
    limit: usize,
    /// Most bytes ahead.
    room: Room,
    /// Worker tasks that wait or run.
    workers: usize,
    stopped: bool,
}

#[derive(Debug)]
enum Slot {
    Idle,
    /// It is being decoded; this many bytes were set aside for it.
    Running(usize),
    Ready(Box<Batch>),
    /// A part was taken; the rest begins at this offset in the buffer.
    Rest(usize),
    Taken,
    Failed(Box<dyn Any + Send>),
}

impl<'f> Prefetch<'f> {
    pub(super) fn new(stacks: Stacks) -> Arc<Self> {
        let state = State {
            first: 0,
            jobs: VecDeque::new(),
            next: 0,
            prefetch: 0,
            ahead_bytes: 0,
            limit: 0,
            room: Room::of(0, 0),
            workers: 0,
            stopped: true,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            wants: Wants { stacks, ..Wants::default() },
            changed: Condvar::new(),
            scratch: Mutex::default(),
            spare: Mutex::default(),
        })
    }

    /// Sets the providers whose events are marks, and those whose events are blocks of trackers. To be called before the
    /// first job is begun.
    pub(super) fn read(self: &mut Arc<Self>, marks: MarkProviders, trackers: TrackerProviders) {
        if let Some(this) = Arc::get_mut(self) {
            (this.wants.marks, this.wants.trackers) = (marks, trackers);
        }
    }

    /// Adds jobs in the order in which they will probably be wanted; returns the number of
    /// the first.
    pub(super) fn add(&self, jobs: impl IntoIterator<Item = Job<'f>>) -> usize {
        let mut state = self.lock();
        let number = state.first + state.jobs.len();
        state.jobs.extend(jobs.into_iter().map(|job| (job, Slot::Idle)));
        number
    }

    /// Begins to decode for a merge of `streams` streams.
    pub(super) fn start(&self, streams: usize, room: Room) {
        let mut state = self.lock();
        state.limit = 2 * streams + 4 * rayon::current_num_threads();
        state.room = room;
        state.stopped = state.jobs.len() < WORTH_WHILE;
    }

    /// Starts workers, one a thread, if at least half of the room for decoded batches is free.
    pub(super) fn pump<'scope>(self: &Arc<Self>, scope: &Scope<'scope>)
    where
        'f: 'scope,
    {
        let mut state = self.lock();
        let left = state.first + state.jobs.len() - state.next;
        let more = rayon::current_num_threads().min(left).saturating_sub(state.workers);
        let is_full = state.prefetch * 2 > state.limit || state.ahead_bytes * 2 > state.room.prefetch;
        if state.stopped || more == 0 || is_full {
            return;
        }
        state.workers += more;
        drop(state);
        for _ in 0..more {
            let this = Arc::clone(self);
            scope.spawn(move |_| this.work());
        }
    }

    /// Lets workers start nothing more.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
    }

    /// Takes back a batch that is done with, to use its memory again.
    pub(super) fn give_back(&self, batch: Batch) {
        let (limit, room) = {
            let state = self.lock();
            (state.limit, state.room)
        };
        let bytes = batch.memory();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.batches.len() < limit && bytes <= room.batch && spare.bytes + bytes <= room.prefetch {
            spare.bytes += bytes;
            spare.batches.push(batch);
        }
    }

    /// The records of one job's buffer, or of the next part of it if [`Batch::rest`] says so. A panic
    /// of the job's worker resumes here.
    pub(super) fn take(&self, number: usize) -> Batch {
        let mut state = self.lock();
        while matches!(state.slot(number), Slot::Running(_)) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let slot = std::mem::replace(state.slot(number), Slot::Taken);
        let job = state.jobs[number - state.first].0.clone();
        let room = state.room;
        let from = match slot {
            Slot::Ready(batch) => {
                state.prefetch -= 1;
                state.ahead_bytes -= batch.memory();
                state.settle(number, batch.rest);
                return *batch;
            }
            Slot::Failed(payload) => {
                drop(state);
                resume_unwind(payload)
            }
            Slot::Rest(from) => from,
            Slot::Idle | Slot::Running(_) | Slot::Taken => 0,
        };
        drop(state);
        let batch = self.decode(&job, from, room);
        self.lock().settle(number, batch.rest);
        batch
    }

    /// Decodes buffers that nobody has started, as long as there is room for them.
    fn work(&self) {
        while let Some((number, job, room)) = self.next() {
            let done = match catch_unwind(AssertUnwindSafe(|| self.decode(&job, 0, room))) {
                Ok(batch) => Slot::Ready(Box::new(batch)),
                Err(payload) => Slot::Failed(payload),
            };
            self.lock().finish(number, done);
            self.changed.notify_all();
            // Others want the thread, too.
            rayon::yield_now();
        }
    }

    /// The next job; a worker that gets none ends.
    fn next(&self) -> Option<(usize, Job<'f>, Room)> {
        let mut state = self.lock();
        while !state.stopped && state.prefetch < state.limit && state.next < state.first + state.jobs.len() {
            let number = state.next;
            if matches!(state.slot(number), Slot::Idle) {
                let job = state.jobs[number - state.first].0.clone();
                let cost = state.room.while_decoding(job.buffer());
                if state.ahead_bytes + cost > state.room.prefetch {
                    break;
                }
                *state.slot(number) = Slot::Running(cost);
                state.next += 1;
                state.prefetch += 1;
                state.ahead_bytes += cost;
                return Some((number, job, state.room));
            }
            state.next += 1;
        }
        state.workers -= 1;
        None
    }

    fn decode(&self, job: &Job<'_>, from: usize, room: Room) -> Batch {
        let batch = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let batch = decode_part(&job.file, job.buffer(), &self.wants, (from, room.for_buffer(job.buffer())), &mut scratch, batch);
        scratch.trim(room.batch.max(1 << 20));
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        batch
    }

    /// A panic elsewhere cannot leave the state half-changed.
    fn lock(&self) -> MutexGuard<'_, State<'f>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spare {
    fn take(&mut self) -> Batch {
        let batch = self.batches.pop().unwrap_or_default();
        self.bytes -= batch.memory();
        batch
    }
}

impl State<'_> {
    fn slot(&mut self, number: usize) -> &mut Slot {
        &mut self.jobs[number - self.first].1
    }

    /// Stores the result of a worker's job.
    fn finish(&mut self, number: usize, done: Slot) {
        if let Slot::Ready(batch) = &done {
            self.ahead_bytes += batch.memory();
        }
        if let Slot::Running(cost) = std::mem::replace(self.slot(number), done) {
            self.ahead_bytes -= cost;
        }
    }

    /// Notes that a part of a job, or the last of it, was taken.
    fn settle(&mut self, number: usize, rest: Option<usize>) {
        *self.slot(number) = rest.map_or(Slot::Taken, Slot::Rest);
        self.forget_taken();
    }

    /// Drops jobs that are done; the last job of a growing file's part drops that part, too.
    fn forget_taken(&mut self) {
        while self.jobs.front().is_some_and(|(_, slot)| matches!(slot, Slot::Taken)) {
            self.jobs.pop_front();
            self.first += 1;
        }
        self.next = self.next.max(self.first);
    }
}

/// All buffers in the order in which they will probably be needed, with the numbers of their files.
/// Several files are read side by side.
pub(super) fn jobs_of(files: &[TraceFile]) -> Vec<(u64, Job<'_>)> {
    let part = |(i, (_, job)): &(usize, (u64, Job<'_>))| *i as f64 / job.file.buffers.len() as f64;
    let mut jobs = Vec::new();
    for (place, file) in files.iter().enumerate() {
        jobs.extend(in_order(place as u64, &FilePart::Whole(file)).into_iter().enumerate());
    }
    if files.len() > 1 {
        jobs.sort_by(|a, b| part(a).total_cmp(&part(b)));
    }
    jobs.into_iter().map(|(_, job)| job).collect()
}

/// The buffers of one file in the order of their sequence, which differs from that of the file only in
/// circular files.
pub(super) fn in_order<'f>(place: u64, file: &FilePart<'f>) -> Vec<(u64, Job<'f>)> {
    let mut jobs: Vec<_> = (0..file.buffers.len()).map(|buffer| (place, Job { file: file.clone(), buffer })).collect();
    jobs.sort_by_key(|(_, job)| job.buffer().order());
    jobs
}
