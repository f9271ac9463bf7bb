//! Where blocks of columns are written to, and where they are read from.

use std::io;

use rayon::prelude::*;
use thiserror::Error;

use crate::stored::Damaged;

/// Takes blocks, one after the other.
pub trait BlockSink {
    /// Appends a block, which consists of these parts.
    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()>;
}

/// Gives blocks, in any order, to any thread.
pub trait BlockSource: Sync {
    /// The length of each block in bytes, as far as there really are so many bytes.
    fn lengths(&self) -> &[u64];

    /// Fills the parts of a block with what was written. It is damaged if it has another length than these parts together.
    fn read(&self, number: usize, parts: &mut [&mut [u8]]) -> Result<(), Damaged>;
}

/// The reason why a stored trace was not restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Unrestored {
    /// It is not what was written.
    #[error("it is damaged")]
    Damaged,
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

impl From<Damaged> for Unrestored {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

/// Fills the parts of a block.
pub(in crate::model) type Fill<'a> = dyn Fn(&mut [&mut [u8]]) -> Result<(), Damaged> + 'a;

/// Blocks that are read between two looks at whether to go on.
const AT_ONCE: usize = 64;

/// The blocks of a trace in the order in which they were written.
pub(in crate::model) struct Blocks<'a, S> {
    source: &'a S,
    next: usize,
    done: u64,
    go_on: &'a mut dyn FnMut(u64) -> bool,
}

impl<'a, S: BlockSource> Blocks<'a, S> {
    pub(super) fn new(source: &'a S, go_on: &'a mut dyn FnMut(u64) -> bool) -> Self {
        Self { source, next: 0, done: 0, go_on }
    }

    /// Reads the next blocks on all workers. `read` gets the place of a block among them, and a function that fills its parts.
    pub(in crate::model) fn each<T: Send>(
        &mut self,
        count: usize,
        read: impl Fn(usize, &Fill<'_>) -> Result<T, Damaged> + Sync,
    ) -> Result<Vec<T>, Unrestored> {
        let first = self.next;
        let lengths = self.source.lengths().get(first..).and_then(|left| left.get(..count)).ok_or(Damaged)?;
        let mut all = Vec::with_capacity(count);
        for from in (0..count).step_by(AT_ONCE) {
            if !(self.go_on)(self.done) {
                return Err(Unrestored::Stopped);
            }
            let to = count.min(from + AT_ONCE);
            let one = |place| read(place, &|parts: &mut [&mut [u8]]| self.source.read(first + place, parts));
            let part: Vec<T> = (from..to).into_par_iter().map(one).collect::<Result<_, Damaged>>()?;
            all.extend(part);
            self.done += lengths[from..to].iter().sum::<u64>();
        }
        self.next += count;
        Ok(all)
    }

    /// Whether all blocks were read.
    pub(super) fn end(&self) -> Result<(), Damaged> {
        if self.next == self.source.lengths().len() { Ok(()) } else { Err(Damaged) }
    }
}
