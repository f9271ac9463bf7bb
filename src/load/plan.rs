//! How much of a capture is loaded: the memory that may be used, and what is left
//! out where all of it needs more.

use std::collections::{BTreeMap, BTreeSet};

use super::Capture;
use crate::etl::TraceFile;
use crate::events::{MarkProviders, process_names};
use crate::format;
use crate::model::{Clock, Cut, CutReason, Processes, Scope, WhenFull, is_process_name};
use crate::platform;
use crate::units::{Layer, Pid, Ticks};

/// What to load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Which part.
    pub scope: Scope,
    /// Bytes that rows, stacks and tables may take, and decoded buffers as far as they are
    /// unusually large ([`Plan::for_rows`]); what is beside them (copies for the window,
    /// indices of queries) is not counted.
    pub budget: u64,
    /// What to do when it is used up.
    pub when_full: WhenFull,
    /// Providers whose events are marks.
    pub marks: MarkProviders,
}

impl Default for Plan {
    /// Everything, whatever it takes.
    fn default() -> Self {
        Self { scope: Scope::default(), budget: u64::MAX, when_full: WhenFull::Cut, marks: MarkProviders::default() }
    }
}

/// Decoded buffers may take so much of any budget, ...
const ALWAYS_DECODED: u64 = 32 << 20;
/// ... and no more of the largest.
const MOST_DECODED: u64 = 1 << 30;

impl Plan {
    /// What decoded buffers may take.
    pub(super) fn for_decoding(&self) -> u64 {
        (self.budget / 4).clamp(ALWAYS_DECODED, MOST_DECODED)
    }

    /// What is left for rows: decoded buffers are taken off where they are more than usual.
    pub(super) fn for_rows(&self, capture: &Capture) -> u64 {
        // Two buffers of each stream, which take up to twice their size.
        let decoded = capture.largest_buffers().saturating_mul(4).min(self.for_decoding());
        self.budget.saturating_sub(decoded.saturating_sub(ALWAYS_DECODED))
    }
}

/// Where a machine does not tell its memory, it is taken for one with 8 GB.
const ASSUMED_MEMORY: u64 = 8 << 30;

/// The budget of users who set none: three quarters of the machine's memory.
pub fn default_budget() -> u64 {
    platform::physical_memory().unwrap_or(ASSUMED_MEMORY) / 4 * 3
}

/// A capture's bytes times this are more than it can need: an allocation takes some
/// 50 bytes in the file and as many in memory, and compression saves at most nine tenths.
const MOST_PER_BYTE: u64 = 20;

impl Capture {
    /// Bytes of the largest buffer of each stream, in all.
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

    /// Whether a capture is so small that its need has not to be estimated.
    pub fn surely_fits(&self, budget: u64) -> bool {
        self.bytes().saturating_mul(MOST_PER_BYTE) <= budget
    }

    /// Ids of all processes that are called this ([`is_process_name`]), or have this id. Reads the
    /// whole capture, since a name may come only with the last rundown.
    pub fn processes_called(&self, wanted: &str) -> BTreeSet<Pid> {
        let lower = wanted.to_lowercase();
        let unnamed = lower.strip_prefix("unknown (").and_then(|rest| rest.strip_suffix(')'));
        let ids = [Some(wanted), unnamed].into_iter().flatten().filter_map(|id| id.parse().ok()).map(Pid);
        let all = self.files.iter().flat_map(|file| process_names(file, &file.buffers));
        ids.chain(all.filter(|(_, name)| is_process_name(name, wanted)).map(|(pid, _)| pid)).collect()
    }
}

/// A scope in words: `the heap layer of 2 processes, without stacks`. `names` tells
/// what a process is called.
pub fn describe_scope(scope: &Scope, name: impl Fn(Pid) -> String) -> String {
    /// More are counted.
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

/// What of a trace was dropped.
pub(super) fn describe_forgotten(at: Ticks, budget: u64, clock: Clock) -> String {
    let (at, budget) = (clock.seconds(at), format::rough_bytes(budget));
    format!(
        "the {budget} that may be used were full: closed allocations before {at:.6} s were dropped; numbers from then on \
         are exact, those before are lower bounds"
    )
}

/// Why a trace ends before its files, and what to do.
pub(super) fn describe_cut(cut: Cut, budget: u64, clock: Clock) -> String {
    let at = clock.seconds(cut.at);
    let (full, more) = match cut.reason {
        CutReason::Memory => {
            (format!("the {} that may be used were full", format::rough_bytes(budget)), ", or allow more memory")
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
    use crate::load::Input;

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
