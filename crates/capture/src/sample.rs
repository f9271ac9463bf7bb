//! Memory samples of the recorded processes and the machine, and the cost of recording. They are taken once a second,
//! checked by [`StopWatch`](super::StopWatch), and written into the recording as counters of the recorded processes.

use std::fmt;
use std::time::Duration;

use crate::events::{CounterEvent, PAGE, ProcessMemory};
use crate::format;
use crate::units::Pid;

use serde::{Deserialize, Serialize};

/// A memory sample; fields that the system does not report are `None`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemorySample {
    /// Time since the recording began.
    pub at: Duration,
    /// The recorded processes that are running.
    pub processes: Vec<ProcessSample>,
    /// The machine's commit charge and its limit, in bytes.
    pub commit: Option<(u64, u64)>,
    /// Available physical memory in bytes.
    pub free: Option<u64>,
}

/// The memory of one process, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessSample {
    /// Its id.
    pub pid: u32,
    /// Its private bytes: its commit charge.
    pub private_bytes: u64,
    /// Its working set, including shared pages.
    pub working_set: u64,
}

impl MemorySample {
    /// The sample as a counter event that readers know; `None` if no process runs. The unit is pages, as in the
    /// system's own counters.
    pub fn counters(&self) -> Option<CounterEvent> {
        let one = |process: &ProcessSample| ProcessMemory {
            pid: Pid(process.pid),
            working_set: process.working_set.div_ceil(PAGE),
            commit: process.private_bytes.div_ceil(PAGE),
            virtual_size: 0,
            private_working_set: 0,
        };
        (!self.processes.is_empty()).then(|| CounterEvent::Chosen(self.processes.iter().map(one).collect()))
    }
}

/// The recorder's own memory and CPU use.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Its private bytes.
    pub private_bytes: u64,
    /// Its CPU time in the last second or so, in percent of one core.
    pub core_percent: f64,
}

impl Cost {
    /// The most CPU time that recording should take, in percent of a core.
    pub const MOST: f64 = 5.0;

    /// The cost for `busy` CPU time within `time`.
    pub fn of(private_bytes: u64, busy: Duration, time: Duration) -> Self {
        let share = if time.is_zero() { 0.0 } else { busy.as_secs_f64() / time.as_secs_f64() };
        Self { private_bytes, core_percent: share * 100.0 }
    }

    /// Whether it is more CPU time than [`Cost::MOST`].
    pub fn is_high(self) -> bool {
        self.core_percent > Self::MOST
    }
}

/// Formats the cost: `recorder 84 MB, 1.2 % of a CPU`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recorder {}, {:.1} % of a CPU", format::rough_bytes(self.private_bytes), self.core_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_pages_and_there_are_none_of_nobody() {
        let process = ProcessSample { pid: 7, private_bytes: 3 * PAGE + 1, working_set: 2 * PAGE };
        let sample = MemorySample { processes: vec![process], ..MemorySample::default() };
        let memory = ProcessMemory { pid: Pid(7), working_set: 2, commit: 4, virtual_size: 0, private_working_set: 0 };
        assert_eq!(sample.counters(), Some(CounterEvent::Chosen(vec![memory])));
        assert_eq!(MemorySample::default().counters(), None);
    }

    #[test]
    fn the_cost_is_a_share_of_one_core() {
        let cost = Cost::of(84 << 20, Duration::from_millis(12), Duration::from_secs(1));
        assert_eq!(cost.to_string(), "recorder 84 MB, 1.2 % of a CPU");
        assert!(!cost.is_high());
        assert!(Cost::of(0, Duration::from_millis(102), Duration::from_secs(2)).is_high());
        assert_eq!(Cost::of(1, Duration::from_secs(1), Duration::ZERO).core_percent, 0.0);
    }
}
