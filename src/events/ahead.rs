//! Decodes buffers ahead of the merge, on the workers of the thread pool.
//!
//! The merge asks for one buffer after the other, each at most once. Workers start
//! them in the order in which they will probably be wanted; what is wanted before
//! it was started is decoded by the one who wants it, so nobody ever waits for work
//! that is not already being done.
//!
//! Memory: a bounded number of decoded buffers, given back by the merge and reused.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use super::{Batch, Stacks, decode_buffer};
use crate::etl::{BufferInfo, ReadBuffer, TraceFile};

/// Fewer buffers than this are not worth a second thread.
const WORTH_WHILE: usize = 4;

/// One buffer to decode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'f> {
    pub(super) file: &'f TraceFile,
    pub(super) buffer: &'f BufferInfo,
}

/// Buffers decoded and to decode.
#[derive(Debug)]
pub(super) struct Ahead<'f> {
    jobs: Vec<Job<'f>>,
    limit: usize,
    stacks: Stacks,
    state: Mutex<State>,
    changed: Condvar,
    /// Memory to use again.
    scratch: Mutex<Vec<ReadBuffer>>,
    spare: Mutex<Vec<Batch>>,
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    /// The first job that no worker has looked at.
    next: usize,
    /// Tasks that wait or run, and batches that nobody took yet.
    ahead: usize,
    stopped: bool,
}

#[derive(Debug)]
enum Slot {
    Idle,
    Running,
    Ready(Box<Batch>),
    Taken,
    Failed(Box<dyn Any + Send>),
}

impl<'f> Ahead<'f> {
    /// For `jobs` in the order in which they will probably be wanted by a merge of so many streams.
    pub(super) fn new(jobs: Vec<Job<'f>>, streams: usize, stacks: Stacks) -> Arc<Self> {
        let slots = jobs.iter().map(|_| Slot::Idle).collect();
        Arc::new(Self {
            limit: 2 * streams + 4 * rayon::current_num_threads(),
            state: Mutex::new(State { slots, next: 0, ahead: 0, stopped: jobs.len() < WORTH_WHILE }),
            jobs,
            stacks,
            changed: Condvar::new(),
            scratch: Mutex::default(),
            spare: Mutex::default(),
        })
    }

    /// Name of the first file, for what is said of all.
    pub(super) fn first_file(&self) -> &str {
        self.jobs.first().map_or("", |job| &job.file.name)
    }

    /// Sends out as many workers as there is room for what they decode.
    pub(super) fn pump<'scope>(self: &Arc<Self>, scope: &Scope<'scope>)
    where
        'f: 'scope,
    {
        let mut state = self.lock();
        let left = state.slots.len() - state.next;
        let more = self.limit.saturating_sub(state.ahead).min(left);
        if state.stopped || more == 0 {
            return;
        }
        state.ahead += more;
        drop(state);
        for _ in 0..more {
            let this = Arc::clone(self);
            scope.spawn(move |_| this.work());
        }
    }

    /// Starts nothing more.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
    }

    /// Memory of a batch that is done with.
    pub(super) fn give_back(&self, batch: Batch) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < self.limit {
            spare.push(batch);
        }
    }

    /// The records of one job's buffer. A panic of its worker goes on here.
    pub(super) fn take(&self, index: usize) -> Batch {
        let mut state = self.lock();
        while matches!(state.slots[index], Slot::Running) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut state.slots[index], Slot::Taken) {
            Slot::Ready(batch) => {
                state.ahead -= 1;
                *batch
            }
            Slot::Failed(payload) => {
                drop(state);
                resume_unwind(payload)
            }
            Slot::Idle | Slot::Running | Slot::Taken => {
                drop(state);
                self.decode(index)
            }
        }
    }

    /// Decodes the next buffer that nobody has started.
    fn work(&self) {
        let mut state = self.lock();
        let wanted = loop {
            let index = state.next;
            if state.stopped || index >= state.slots.len() {
                state.ahead -= 1;
                return;
            }
            state.next += 1;
            if matches!(state.slots[index], Slot::Idle) {
                state.slots[index] = Slot::Running;
                break index;
            }
        };
        drop(state);
        let done = match catch_unwind(AssertUnwindSafe(|| self.decode(wanted))) {
            Ok(batch) => Slot::Ready(Box::new(batch)),
            Err(payload) => Slot::Failed(payload),
        };
        self.lock().slots[wanted] = done;
        self.changed.notify_all();
    }

    fn decode(&self, index: usize) -> Batch {
        let Job { file, buffer } = self.jobs[index];
        let take = |spare: &mut Vec<Batch>| spare.pop().unwrap_or_default();
        let batch = take(&mut self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let batch = decode_buffer(file, buffer, self.stacks, &mut scratch, batch);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        batch
    }

    /// A panic elsewhere cannot leave the state half-changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
