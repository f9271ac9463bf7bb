//! Processor samples as the samples of each process's thread.
//!
//! If there are more than [`MOST`], only every n-th is written, with n times the weight.

use std::num::NonZeroUsize;

use fxprof_processed_profile::{CpuDelta, StackHandle};

use super::{Drawn, ThreadOf};
use crate::model::{ProcessId, Sample};
use crate::stacks;
use crate::tables::KeyedMap;
use crate::{ExportError, Value};

/// Maximum samples of one profile.
pub(super) const MOST: usize = 1 << 20;

impl Drawn<'_> {
    pub(super) fn samples(&mut self) -> Result<(), ExportError> {
        let exported = self.exported;
        let (trace, interval) = (exported.trace(), exported.interval());
        let samples = &trace.activity.samples;
        let range = samples.during(interval);
        let Some(count) = NonZeroUsize::new(range.len()) else { return Ok(()) };
        let mut made: KeyedMap<(ProcessId, u32), StackHandle> = KeyedMap::default();
        stacks::each(exported, Value::Samples, |stack| {
            made.extend(self.stack(&stack).map(|handle| ((stack.process, stack.stack.0), handle)));
            Ok(())
        })?;
        let step = count.get().div_ceil(MOST);
        let nanos = samples.interval / trace.clock.frequency.max(1) as f64 * 1e9 * step as f64;
        let stands_for = CpuDelta::from_nanos(nanos as u64);
        for (n, sample) in samples.list.range(range).step_by(step).enumerate() {
            if n % 4096 == 0 {
                exported.cancel.check()?;
            }
            let Sample { at, site, .. } = *sample;
            let site = &samples.sites[site.0 as usize];
            let thread = self.threads.get(&site.caller).copied();
            let (Some(ThreadOf { thread, .. }), Some(&stack)) = (thread, made.get(&(site.caller, site.stack.0))) else {
                continue;
            };
            let at = self.time(at);
            self.profile.add_sample(thread, at, Some(stack), stands_for, i32::try_from(step).unwrap_or(i32::MAX));
        }
        Ok(())
    }
}
