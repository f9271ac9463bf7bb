//! How much of a capture is loaded: the memory budget, and what is left out if the whole capture needs more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::capture::Capture;
use crate::etl::TraceFile;
use crate::events::{EventSchema, MarkProviders, TrackerProviders, process_names};
use crate::format;
use crate::model::{Clock, Cut, CutReason, Processes, Scope, WhenFull, is_process_name};
use crate::platform;
use crate::units::{Layer, Pid, Ticks};

/// The part of a capture to load, and the limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The part to load.
    pub scope: Scope,
    /// Memory budget in bytes for rows, stacks and tables, and for decoded buffers as far as they are unusually large
    /// ([`Plan::for_rows`]). Other memory (copies for the window, query indices) is not counted.
    pub budget: u64,
    /// The reaction when the budget is used up.
    pub when_full: WhenFull,
    /// Providers whose events are marks.
    pub marks: MarkProviders,
    /// Providers whose events are blocks of trackers.
    pub trackers: TrackerProviders,
    /// Descriptions of events that the trace may lack, such as those of installed manifests.
    pub descriptions: Arc<[EventSchema]>,
}

impl Default for Plan {
    /// Everything, without a memory limit.
    fn default() -> Self {
        let (scope, marks, trackers, descriptions) = Default::default();
        Self { scope, budget: u64::MAX, when_full: WhenFull::Cut, marks, trackers, descriptions }
    }
}

/// Memory that decoded buffers may always take, in bytes.
const ALWAYS_DECODED: u64 = 32 << 20;
/// Maximum memory for decoded buffers, in bytes.
const MOST_DECODED: u64 = 1 << 30;

impl Plan {
    /// Memory limit for decoded buffers, in bytes.
    pub(super) fn for_decoding(&self) -> u64 {
        (self.budget / 4).clamp(ALWAYS_DECODED, MOST_DECODED)
    }

    /// The budget left for rows: decoded buffers are subtracted if they take more than usual.
    pub(super) fn for_rows(&self, capture: &Capture) -> u64 {
        // There are two buffers per stream, each of which takes up to twice its size.
        let decoded = capture.largest_buffers().saturating_mul(4).min(self.for_decoding());
        self.budget.saturating_sub(decoded.saturating_sub(ALWAYS_DECODED))
    }
}

/// The assumed physical memory if the system does not report it: 8 GB.
const ASSUMED_MEMORY: u64 = 8 << 30;

/// The default budget: three quarters of the physical memory.
pub fn default_budget() -> u64 {
    platform::physical_memory().unwrap_or(ASSUMED_MEMORY) / 4 * 3
}

/// Upper bound of the memory need per byte of a capture: an allocation takes some 50 bytes in the file and as many in
/// memory, and compression saves at most nine tenths.
const MOST_PER_BYTE: u64 = 20;

impl Capture {
    /// The sum of the largest buffer of each stream, in bytes.
    fn largest_buffers(&self) -> u64 {
        let of_file = |file: &TraceFile| {
            let mut largest: BTreeMap<u16, usize> = BTreeMap::new();
            for buffer in &file.buffers {
                let largest = largest.entry(buffer.processor).or_default();
                *largest = buffer.expanded_size().max(*largest);
            }
            largest.into_values().map(|size| size as u64).sum::<u64>()
        };
        self.files.iter().map(of_file).sum()
    }

    /// Whether a capture is so small that it fits without an estimate.
    pub fn surely_fits(&self, budget: u64) -> bool {
        self.bytes().saturating_mul(MOST_PER_BYTE) <= budget
    }

    /// Ids of all processes with this name ([`is_process_name`]) or this id. Reads the whole capture, since a name may
    /// come only in the last rundown.
    pub fn processes_called(&self, wanted: &str) -> BTreeSet<Pid> {
        let lower = wanted.to_lowercase();
        let unnamed = lower.strip_prefix("unknown (").and_then(|rest| rest.strip_suffix(')'));
        let ids = [Some(wanted), unnamed].into_iter().flatten().filter_map(|id| id.parse().ok()).map(Pid);
        let all = self.files.iter().flat_map(|file| process_names(file, &file.buffers));
        ids.chain(all.filter(|(_, name)| is_process_name(name, wanted)).map(|(pid, _)| pid)).collect()
    }
}

/// Describes a scope in words: `heap memory of 2 processes, without stacks`. `name` returns the name of a process.
pub fn describe_scope(scope: &Scope, name: impl Fn(Pid) -> String) -> String {
    /// Up to this many processes are named; more are counted.
    const NAMED: usize = 3;
    let list = |pids: &BTreeSet<Pid>| match pids.len() {
        0 => "no process".to_owned(),
        1..=NAMED => pids.iter().map(|&pid| name(pid)).collect::<Vec<_>>().join(", "),
        n => format!("{n} processes"),
    };
    let processes = match &scope.processes {
        Processes::All => "all processes".to_owned(),
        Processes::Only(these) => list(these),
        Processes::Except(these) => format!("all processes but {}", list(these)),
    };
    let layers: Vec<&str> = Layer::ALL.into_iter().filter(|layer| scope.layers.contains(layer)).map(Layer::name).collect();
    let layers = match layers.len() {
        0 => "nothing".to_owned(),
        1 => format!("{} memory", layers[0]),
        n if n == Layer::ALL.len() => String::new(),
        _ => format!("{} memory", layers.join(" and ")),
    };
    let of = if layers.is_empty() { processes } else { format!("{layers} of {processes}") };
    if scope.stacks { of } else { format!("{of}, without stacks") }
}

/// Describes which part of a trace was dropped.
pub(super) fn describe_forgotten(at: Ticks, budget: u64, clock: Clock) -> String {
    let (at, budget) = (clock.seconds(at), format::rough_bytes(budget));
    format!(
        "the memory limit of {budget} was reached: blocks freed before {at:.6} s were dropped; numbers from then on are \
         exact, those before are lower bounds"
    )
}

/// Explains why a trace ends before its files, and what to do.
pub(super) fn describe_cut(cut: Cut, budget: u64, clock: Clock) -> String {
    let at = clock.seconds(cut.at);
    let (full, more) = match cut.reason {
        CutReason::Memory => {
            (format!("the memory limit of {} was reached", format::rough_bytes(budget)), ", or allow more memory")
        }
        CutReason::Numbers => ("2^32 allocations or frees were counted, the most there can be,".to_owned(), ""),
    };
    let stacks = if cut.stacks_missing { "; some stacks before it are missing too" } else { "" };
    format!(
        "{full} at {at:.6} s, and the trace ends there: numbers before it are exact, what came later was left out{stacks}; \
         load fewer processes or layers{more}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;

    #[test]
    fn decoded_buffers_take_from_the_budget_what_is_more_than_usual() {
        let mut capture = Capture::open(&[Input::Demo]).unwrap();
        let plan = |budget| Plan { budget, ..Plan::default() };
        for budget in [0, 1 << 20, 256 << 20, u64::MAX] {
            assert_eq!(plan(budget).for_rows(&capture), budget, "small buffers of few processors");
            assert!((ALWAYS_DECODED..=MOST_DECODED).contains(&plan(budget).for_decoding()));
        }
        let mut buffer = capture.files[0].buffers[0].clone();
        buffer.flags = 0;
        buffer.size = 16 << 20;
        let mut of_processor = |processor| {
            buffer.processor = processor;
            buffer.clone()
        };
        capture.files[0].buffers = (0..24).map(&mut of_processor).collect();
        let plan = plan(256 << 20);
        assert_eq!(plan.for_decoding(), 64 << 20);
        assert_eq!(plan.for_rows(&capture), (256 - 32) << 20);
    }
}
