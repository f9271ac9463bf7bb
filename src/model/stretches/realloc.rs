//! Blocks that are resized, in stretches: what there was ends, and what there is begins.
//!
//! A realloc that moves its block may be the summary of an allocation and a free that were
//! told before ([`Builder`](crate::model::Builder) has the rule). Whether it is depends on what
//! is alive where it went, which only the steps of the stretch can tell here. If they do
//! not, it is left to the replay.

use super::{LEAST, SliceBlocks, StackOf};
use crate::events::{Attached, Record};
use crate::model::lives::{BlockChange, StretchStep};
use crate::model::rows::is_plain;
use crate::units::{Layer, Ticks, Tid};

/// So many steps are looked at.
const LOOK_BACK: usize = 16 * LEAST;

/// An allocation from this moment on can be one that a realloc sums up.
pub(in crate::model) fn summed_up_since(realloc: Ticks, frequency: u64) -> Ticks {
    let millisecond = frequency as i64 / 1000;
    Ticks(realloc.0.saturating_sub(millisecond))
}

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
        let has_failed = layer == Layer::Heap && new == 0;
        if has_failed || !pid.is_known() || !is_plain(new, size) {
            return false;
        }
        let Some(actor) = self.actors.number((pid, layer, heap)) else { return false };
        let Some(thread) = self.threads.number(tid) else { return false };
        let block = (new, size as u32);
        let Some(is_summary) = self.is_summary(self.time(raw), (layer, actor), old, block, tid) else {
            return false;
        };
        let time = self.go_on(raw, actor);
        if is_summary {
            let ended = self.ends_with(time, actor, old, BlockChange::Ends);
            self.list(stack, ended, None);
            return true;
        }
        let ended = self.ends_with(time, actor, old, BlockChange::IsFreed);
        let waits = stack.stack == Attached::Nothing;
        if !waits {
            self.list(stack, ended, None);
        }
        let begun = self.begins(time, actor, block, thread);
        self.list(stack, begun, waits.then_some(ended.rank));
        true
    }

    /// Whether a realloc by a thread sums up what was told before; `None` if it is not known.
    fn is_summary(&self, at: Ticks, (layer, actor): (Layer, u16), old: u64, (new, size): (u64, u32), tid: Tid) -> Option<bool> {
        if layer != Layer::Heap || old == new {
            return Some(false);
        }
        let open = self.open.as_ref()?;
        let since = summed_up_since(at, self.frequency);
        let shard = self.spread.shard(new);
        for step in self.steps.behind(shard, open.from.steps[shard]).iter().rev().take(LOOK_BACK) {
            let &StretchStep { address, time, block } = step;
            if time < since {
                return Some(false);
            }
            if address == new && block.actor == actor {
                let is_new = || {
                    let (row_size, thread) = self.rows.size_and_thread(block.rank);
                    row_size == size && self.threads.list().get(usize::from(thread)) == Some(&tid)
                };
                return Some(block.change == BlockChange::Begins && is_new());
            }
        }
        None
    }
}
