//! Work that is done piece by piece in its order, by a worker of the thread pool or, if these are busy, by
//! the thread that waits for it. Results depend on neither.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A state that work changes.
pub(super) trait Worker: Send + 'static {
    /// A piece of work.
    type Work: Send + Debug;

    /// Steps that a piece of work takes.
    fn steps(work: &Self::Work) -> usize;

    /// Called before pieces of work that were added since.
    fn begin(&mut self);

    /// Does a piece of work.
    fn work(&mut self, work: Self::Work);
}

/// A worker, and the work that it has still to do.
#[derive(Debug)]
pub(super) struct WorkQueue<W: Worker> {
    worker: Mutex<W>,
    queue: Mutex<Queue<W::Work>>,
    /// Whether a thread was called and has not begun yet.
    called: AtomicBool,
}

#[derive(Debug)]
struct Queue<T> {
    work: Vec<T>,
    steps: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { work: Vec::new(), steps: 0 }
    }
}

impl<W: Worker> WorkQueue<W> {
    pub(super) fn new(worker: W) -> Self {
        Self { worker: Mutex::new(worker), queue: Mutex::default(), called: AtomicBool::new(false) }
    }

    /// Puts work at the end of the queue; returns how many steps there are to do then.
    pub(super) fn add(&self, work: W::Work) -> usize {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.steps += W::steps(&work);
        queue.work.push(work);
        queue.steps
    }

    /// Calls a thread of the pool, unless one was called already.
    pub(super) fn call(self: &Arc<Self>) {
        if self.called.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        rayon::spawn(move || {
            this.called.store(false, Ordering::Release);
            // A panic poisons the lock, and the thread that waits for the worker finds it.
            let work = || match this.worker.try_lock() {
                Ok(mut worker) => this.work_off(&mut worker),
                Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => {}
            };
            let _ = catch_unwind(AssertUnwindSafe(work));
        });
    }

    /// The worker, once no other thread has it. Panics if it has panicked.
    pub(super) fn lock(&self) -> MutexGuard<'_, W> {
        match self.worker.lock() {
            Ok(worker) => worker,
            Err(_) => panic!("a worker of the replay failed"),
        }
    }

    /// Does all work that was added. The thread that holds the worker takes the work, so its order stays.
    pub(super) fn work_off(&self, worker: &mut W) {
        loop {
            let queue = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
            if queue.work.is_empty() {
                return;
            }
            worker.begin();
            queue.work.into_iter().for_each(|work| worker.work(work));
        }
    }
}
