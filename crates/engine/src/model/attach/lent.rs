//! Stacks and sites, here or with a worker that follows batches of blocks.
//!
//! The thread that replays numbers the rows of a batch, and its stacks are found meanwhile by a worker, batch by
//! batch. Anything else needs them here: [`LentAttach::take_back`] waits for the batches that were sent. A batch event
//! that concerns other rooms, and all behind it, are left to the thread that takes them back.
//!
//! While they are away only the most is known of what they take and have to do, from what was known when they were lent
//! and the records that were sent since. So what is decided by it is asked again once they are here, and does not
//! depend on when they were.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::block_batch::NumberedBatch;
use super::frees::Frees;
use super::{Attach, SiteTable};
use crate::model::work_queue::{WorkQueue, Worker};

/// Most bytes that a record may take, all that is kept for it included.
pub(in crate::model) const MOST_A_RECORD: u64 = 1 << 10;

/// Most bytes that a frame of a stack may take.
const MOST_A_FRAME: u64 = 60;

/// Stacks and sites that may be away. To look into them is possible only while they are here.
#[derive(Debug)]
pub(in crate::model) struct LentAttach {
    here: Option<Box<Attach>>,
    queue: Arc<WorkQueue<Follower>>,
    when_lent: Known,
    /// Numbers of records, and of frames of their stacks, that were sent since.
    sent: u64,
    sent_frames: u64,
}

/// Facts about stacks and sites when they are lent.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    bytes: u64,
    untidy: (usize, usize),
    /// Rows that wait for the meaning of their keys, and then get sites.
    keyed: usize,
    logged: usize,
}

/// The worker that has stacks and sites while they are lent.
#[derive(Default, Debug)]
struct Follower {
    attach: Option<Box<Attach>>,
    /// Batches that it could not follow to their ends.
    left: Vec<NumberedBatch>,
}

impl Worker for Follower {
    type Work = NumberedBatch;

    fn steps(batch: &NumberedBatch) -> usize {
        batch.len() as usize
    }

    fn begin(&mut self) {}

    fn work(&mut self, mut batch: NumberedBatch) {
        let is_done = match &mut self.attach {
            Some(attach) => self.left.is_empty() && attach.follow(&mut batch, None),
            None => false,
        };
        if !is_done {
            self.left.push(batch);
        }
    }
}

impl LentAttach {
    pub(in crate::model) fn new(attach: Attach) -> Self {
        let queue = Arc::new(WorkQueue::new(Follower::default()));
        Self { here: Some(Box::new(attach)), queue, when_lent: Known::default(), sent: 0, sent_frames: 0 }
    }

    /// Whether they are with the worker.
    #[inline(always)]
    pub(in crate::model) fn is_away(&self) -> bool {
        self.here.is_none()
    }

    /// Sends a batch to the worker, and with it stacks and sites if they are here.
    pub(in crate::model) fn send(&mut self, batch: NumberedBatch) {
        if let Some(attach) = self.here.take() {
            let (untidy, keyed) = (attach.untidy(), attach.keyed.rows.len());
            self.when_lent = Known { bytes: attach.bytes(), untidy, keyed, logged: attach.frees.logged() };
            (self.sent, self.sent_frames) = (0, 0);
            self.queue.lock().attach = Some(attach);
        }
        self.sent += u64::from(batch.len());
        self.sent_frames += u64::from(batch.frames());
        self.queue.add(batch);
        if cfg!(debug_assertions) && self.sent.is_multiple_of(2) {
            // So that tests see what the worker does, however fast it is.
            return self.queue.work_off(&mut self.queue.lock());
        }
        self.queue.call();
    }

    /// Takes stacks and sites back when all batches that were sent have been followed; returns those that were not
    /// followed to their ends.
    pub(in crate::model) fn take_back(&mut self) -> Vec<NumberedBatch> {
        if !self.is_away() {
            return Vec::new();
        }
        let mut follower = self.queue.lock();
        self.queue.work_off(&mut follower);
        self.here = follower.attach.take();
        std::mem::take(&mut follower.left)
    }

    /// Most bytes in use.
    pub(in crate::model) fn bytes(&self) -> u64 {
        match &self.here {
            Some(attach) => attach.bytes(),
            // Lists that are full grow to twice their size.
            None => 2 * (self.when_lent.bytes + self.sent_frames * MOST_A_FRAME) + self.sent * MOST_A_RECORD,
        }
    }

    /// Whether the trace may have a freeing stack.
    pub(in crate::model) fn may_have_freeing_stack(&self) -> bool {
        self.here.as_ref().is_none_or(|attach| attach.frees.any)
    }

    /// The most sites that may have been added since they were tidied up, and their number then.
    pub(in crate::model) fn untidy(&self) -> (usize, usize) {
        let Known { untidy: (new, old), keyed, .. } = self.when_lent;
        // A realloc has two sites.
        self.here.as_ref().map_or((new + keyed + 2 * self.sent as usize, old), |attach| attach.untidy())
    }

    /// Whether so many frees may be logged that it is time to wait for the matching.
    pub(in crate::model) fn may_have_long_log(&self) -> bool {
        let most = self.when_lent.logged + self.when_lent.keyed + 2 * self.sent as usize;
        Frees::is_long(self.here.as_ref().map_or(most, |attach| attach.frees.logged()))
    }
}

impl Attach {
    /// Number of sites added since they were tidied up, and their number then.
    fn untidy(&self) -> (usize, usize) {
        let tables = [&self.sites, &self.frees.sites, &self.samples.sites].map(SiteTable::untidy);
        tables.into_iter().fold((0, 0), |(all_new, all_old), (new, old)| (all_new + new, all_old + old))
    }
}

impl Deref for LentAttach {
    type Target = Attach;

    #[inline(always)]
    fn deref(&self) -> &Attach {
        self.here.as_ref().unwrap_or_else(|| unreachable!("they were taken back"))
    }
}

impl DerefMut for LentAttach {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Attach {
        self.here.as_mut().unwrap_or_else(|| unreachable!("they were taken back"))
    }
}
