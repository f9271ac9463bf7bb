//! Views of files and of shared memory, by process, while they are mapped.
//!
//! A view existed before the trace if the first event at its address is its unmapping or a rundown. It ends when another one is
//! mapped at its address: its unmapping was lost. Nothing here ends a view with its process.
//!
//! Cost: a hash operation for each event. Memory: [`VIEW`] bytes for each view, at most [`MOST`] of them.

use super::Chunked;
use crate::events::{ViewChange, ViewEvent};
use crate::model::ProcessId;
use crate::stored::stored;
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// Largest number of views kept.
const MOST: usize = 1 << 18;
/// Bytes of a view, with its place among the live ones.
const VIEW: u64 = 80;

/// A view of a file or of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedView {
    /// The process that mapped it.
    pub process: ProcessId,
    /// First byte.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// When it was mapped; [`Ticks::BEFORE_TRACE`] if it existed before.
    pub since: Ticks,
    /// When it was unmapped; [`Ticks::NEVER`] if it was not.
    pub until: Ticks,
}
stored!(struct MappedView { process, base, size, since, until });

/// Collects views in time order.
#[derive(Debug, Default)]
pub(super) struct ViewTable {
    list: Chunked<MappedView>,
    /// The view that exists at each address that had one, by process and first byte.
    live: KeyedMap<(ProcessId, u64), Option<usize>>,
    refused: u64,
}

impl ViewTable {
    /// Applies a change.
    pub(super) fn change(&mut self, process: ProcessId, event: &ViewEvent, at: Ticks) {
        let &ViewEvent { change, base, size } = event;
        let known = self.live.get(&(process, base)).copied();
        let (since, exists) = match (change, known) {
            (ViewChange::RundownStart | ViewChange::RundownEnd, Some(Some(_))) | (ViewChange::Unmap, Some(None)) => return,
            (ViewChange::Unmap, Some(Some(place))) => {
                self.end(place, at);
                self.live.insert((process, base), None);
                return;
            }
            (ViewChange::Map, known) => {
                known.flatten().into_iter().for_each(|place| self.end(place, at));
                (at, true)
            }
            (ViewChange::Unmap, None) => (Ticks::BEFORE_TRACE, false),
            (ViewChange::RundownStart | ViewChange::RundownEnd, None) => (Ticks::BEFORE_TRACE, true),
            // Its mapping was lost.
            (ViewChange::RundownStart | ViewChange::RundownEnd, Some(None)) => (at, true),
        };
        if self.list.len() >= MOST {
            self.refused += 1;
            self.live.remove(&(process, base));
            return;
        }
        let until = if exists { Ticks::NEVER } else { at };
        self.live.insert((process, base), exists.then_some(self.list.len()));
        self.list.push(MappedView { process, base, size, since, until });
    }

    fn end(&mut self, place: usize, at: Ticks) {
        self.list.get_mut(place).into_iter().for_each(|view| view.until = at);
    }

    /// The views that are known now.
    pub(super) fn publish(&self) -> Chunked<MappedView> {
        self.list.clone()
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.list.len() as u64 * VIEW
    }

    /// A sentence if views were left out.
    pub(super) fn left_out(&self) -> Option<String> {
        (self.refused > 0).then(|| format!("{} more changes of mapped views than are kept were left out", self.refused))
    }
}
