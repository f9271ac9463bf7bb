//! Resized blocks in batches: the old one ends, and the new one begins.
//!
//! A realloc that moves its block may only sum up an allocation and a free before it
//! ([`Builder`](crate::model::Builder) has the rule). Whether it does depends on what its thread
//! allocated last and on what is alive at its old and new address. Here only the batch can answer
//! that; if it does not, the realloc is left to the replay.

use super::latest::LOOK_BACK;
use super::{SliceBlocks, StackOf};
use crate::events::{Attached, Record};
use crate::model::allocations::{BatchStep, BlockChange};
use crate::model::rows::is_plain;
use crate::units::Layer;

impl SliceBlocks {
    pub(super) fn add_realloc(
        &mut self,
        record: &Record,
        (layer, heap): (Layer, u64),
        old: u64,
        (new, size): (u64, u64),
        stack: StackOf<'_>,
    ) -> bool {
        let &Record { time: raw, pid, tid, .. } = record;
        if record.event.is_failed_realloc() || !pid.is_known() || !is_plain(new, size) {
            return false;
        }
        let Some(actor) = self.actors.number((pid, layer, heap)) else { return false };
        let Some(thread) = self.threads.number(tid) else { return false };
        let block = (new, size as u32);
        let Some(is_summary) = self.is_summary((layer, actor), old, block, thread) else {
            return false;
        };
        let time = self.go_on(raw, actor);
        if is_summary {
            let ended = self.ends_with((time, tid), actor, old, BlockChange::Ends);
            self.list(stack, ended, None);
            return true;
        }
        let mut waits = None;
        if old != 0 {
            let ended = self.ends_with((time, tid), actor, old, BlockChange::IsFreed);
            match stack.stack {
                Attached::Nothing => waits = Some(ended.rank),
                _ => self.list(stack, ended, None),
            }
        }
        let begun = self.begins(time, (actor, layer), block, thread);
        self.list(stack, begun, waits);
        true
    }

    /// Whether a realloc by a thread only sums up earlier events, and a block that is alive at its old
    /// address is the old one; `None` if that is not known.
    fn is_summary(&self, (layer, actor): (Layer, u16), old: u64, (new, size): (u64, u32), thread: u16) -> Option<bool> {
        if layer != Layer::Heap || old == new {
            return Some(false);
        }
        let open = self.open.as_ref()?;
        let latest = self.latest.of(open.from.latest, actor, thread)?;
        let is_new = |step: &BatchStep| step.block.change == BlockChange::Begins && step.block.rank == latest;
        let told = self.rows.address_and_size(latest) == (new, size);
        if !told || !self.latest_step(actor, new)?.is_some_and(is_new) {
            return Some(false);
        }
        let is_newer = |step: &BatchStep| step.block.change == BlockChange::Begins && step.block.rank > latest;
        (old != 0 && !self.latest_step(actor, old)?.is_some_and(is_newer)).then_some(true)
    }

    /// The last step at an address in the open batch, if there is one; `None` if that is not known.
    fn latest_step(&self, actor: u16, address: u64) -> Option<Option<&BatchStep>> {
        let shard = self.shard_hash.shard(address);
        let steps = self.steps.behind(shard, self.open.as_ref()?.from.steps[shard]);
        let latest = &steps[steps.len().saturating_sub(LOOK_BACK)..];
        let found = latest.iter().rev().find(|step| step.address == address && step.block.actor == actor);
        (found.is_some() || latest.len() == steps.len()).then_some(found)
    }
}
