//! Traces that need more memory than there is: messages about them, and loading only what a report asks for.

use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::{kept, output};
use crate::format::{self, rough_bytes};
use crate::load::{Capture, Estimate, Input, Plan, Processes, Scope, default_budget, describe_scope};
use crate::paths;
use crate::platform::memory_in_use;
use crate::units::Layer;

/// How much memory may be used.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Memory limit such as 4G, in MB without a unit, approximate [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = limit)]
    memory_limit: Option<u64>,

    /// Bytes that a trace may take, where several share.
    #[arg(skip)]
    share: Option<u64>,
}

impl Memory {
    /// The words that give the limit on a command line.
    #[cfg(feature = "mcp")]
    pub(super) fn words(self) -> Vec<String> {
        self.memory_limit.map_or_else(Vec::new, |limit| vec!["--memory-limit".to_owned(), limit.to_string()])
    }

    /// The memory limit in bytes.
    fn limit(self) -> u64 {
        self.memory_limit.map_or_else(default_budget, megabytes)
    }

    /// Hard limit in bytes, whatever was estimated: the program ends if it uses more.
    fn most(self) -> u64 {
        let limit = self.limit();
        limit.saturating_add(limit / MORE).max(LEAST)
    }

    /// Bytes that traces may use: the program itself needs a part of a small limit.
    pub(super) fn budget(self) -> u64 {
        self.share.unwrap_or_else(|| self.limit().min(self.most() - OWN))
    }

    /// The memory for each of two captures that are loaded together: the whole budget, or its share of it if both
    /// together need more.
    pub(super) fn dealt(self, captures: [&Capture; 2]) -> [Self; 2] {
        let needs = captures.map(|capture| Estimate::of(capture, || true).map_or(capture.bytes(), |estimate| estimate.total()));
        shares(self.budget(), needs).map_or([self; 2], |shares| shares.map(|share| Self { share: Some(share), ..self }))
    }
}

/// Memory use may exceed the limit by this part of it, because sizes are estimated and not measured.
const MORE: u64 = 4;
/// Minimum of the hard limit in bytes, so that the program's own memory never exceeds it.
const LEAST: u64 = 80 << 20;
/// Approximate bytes that the program needs besides the estimate of a trace: its code, and buffers for decoding.
const OWN: u64 = 36 << 20;
/// Assumed growth of memory use: the next check is when the limit could be reached at this rate.
const BYTES_A_MS: u64 = 8 << 20;
/// Bounds of the time between two checks.
const EVERY_MS: (u64, u64) = (2, 50);

impl Memory {
    /// Ends the program with an error as soon as it uses much more memory than it may. Loading a trace stops before
    /// that, but the memory of answers is not estimated. `inputs` are the files that are read.
    pub(super) fn watch(self, inputs: &[Input]) {
        static WATCHES: Once = Once::new();
        static READ: Mutex<String> = Mutex::new(String::new());
        let read = || READ.lock().unwrap_or_else(PoisonError::into_inner);
        *read() = inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ");
        let limit = self.limit();
        // Some systems count the program's executable as memory in use.
        let most = self.most().max(memory_in_use().unwrap_or(0).saturating_add(self.most() - OWN));
        let watch = move || -> Option<()> {
            while let Some(room) = most.checked_sub(memory_in_use()?) {
                thread::sleep(Duration::from_millis((room / BYTES_A_MS).clamp(EVERY_MS.0, EVERY_MS.1)));
            }
            let (name, limit) = (read().clone(), rough_bytes(limit));
            output::error(&format!("{name}: the answer needs more memory than the limit of {limit}; {LESS}"));
            paths::remove_drafts();
            std::process::exit(1);
        };
        // If the thread does not start, memory is not watched, as on systems that do not report memory use.
        WATCHES.call_once(|| drop(thread::Builder::new().name("memory".to_owned()).spawn(watch)));
    }
}

/// Advice if an answer needs too much memory.
const LESS: &str = "narrow it down (--process, --layer, --top, fewer --by keys), or raise --memory-limit";

/// Parses a memory limit, in MB.
pub(super) fn limit(text: &str) -> Result<u64, String> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let megabytes = if is_number { text.parse().ok() } else { Some(format::parse_bytes(text)? >> 20) };
    megabytes.filter(|megabytes| *megabytes > 0).ok_or_else(|| "expected a limit of at least 1 MB, such as 4096 or 4G".to_owned())
}

/// Converts megabytes to bytes.
pub(super) fn megabytes(n: u64) -> u64 {
    n.saturating_mul(1 << 20)
}

/// Advice if a trace needs too much memory.
const ADVICE: &str = "load less with --process or --layer, or raise --memory-limit";

/// The estimated need of a capture, if that is more than the budget.
fn too_large(capture: &Capture, budget: u64) -> Option<Estimate> {
    if capture.surely_fits(budget) {
        return None;
    }
    Estimate::of(capture, || true).filter(|estimate| estimate.total() > budget)
}

fn need(capture: &Capture, estimate: &Estimate, budget: u64) -> String {
    let name = capture.files.first().map_or("", |file| file.name.as_str());
    let (need, budget) = (rough_bytes(estimate.total()), rough_bytes(budget));
    format!("{name}: the whole trace needs about {need} of memory; the limit is {budget}")
}

/// Reports if a capture needs more than the budget.
pub(super) fn warn(capture: &Capture, memory: Memory) {
    if let Some(estimate) = too_large(capture, memory.budget()) {
        output::message(&format!("{}; for a report {ADVICE}", need(capture, &estimate, memory.budget())));
    }
}

/// Drops traces that are kept, the oldest first, until a capture fits beside the others.
pub(super) fn make_room(capture: &Capture, memory: Memory) {
    loop {
        let bytes = kept::bytes();
        if bytes == 0 || too_large(capture, memory.budget().saturating_sub(bytes)).is_none() {
            return;
        }
        kept::drop_oldest();
    }
}

/// Plans to load all of a capture or, if that needs more than the budget, what the filters ask for.
pub(super) fn plan(capture: &Capture, memory: Memory, process: Option<&str>, layer: Option<Layer>) -> Plan {
    let budget = memory.budget();
    let Some(estimate) = too_large(capture, budget) else { return Plan { budget, ..Plan::default() } };
    let scope = Scope {
        processes: process.map_or(Processes::All, |wanted| Processes::Only(capture.processes_called(wanted))),
        layers: layer.map_or_else(|| Layer::ALL.to_vec(), |layer| vec![layer]),
        stacks: true,
    };
    let then = if scope.is_all() {
        format!("loading stops when it is full; {ADVICE}")
    } else {
        format!("so only {} is loaded", describe_scope(&scope, |pid| estimate.name(pid)))
    };
    output::message(&format!("{}; {then}", need(capture, &estimate, budget)));
    Plan { scope, budget, ..Plan::default() }
}

/// Splits a budget between two needs that exceed it together, in bytes; `None` if they do not.
fn shares(budget: u64, needs: [u64; 2]) -> Option<[u64; 2]> {
    let all = needs[0].saturating_add(needs[1]);
    let part = |need: u64| (u128::from(budget) * u128::from(need) / u128::from(all)) as u64;
    (all > budget).then(|| needs.map(|need| part(need).max(megabytes(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_captures_share_what_is_too_little_for_both() {
        let mb = megabytes(1);
        assert_eq!(shares(100 * mb, [60 * mb, 40 * mb]), None, "there is enough");
        assert_eq!(shares(100 * mb, [150 * mb, 50 * mb]), Some([75 * mb, 25 * mb]));
        assert_eq!(shares(mb, [mb, 0]), None);
        assert_eq!(shares(mb, [mb, 1]), Some([mb; 2]), "nothing is loaded into nothing");
        assert_eq!(shares(u64::MAX - 1, [u64::MAX, u64::MAX]), Some([u64::MAX - 1; 2]));
    }

    #[test]
    fn a_trace_and_the_program_stay_within_a_quarter_more_than_the_limit() {
        let of = |limit| Memory { memory_limit: Some(limit), share: None };
        for (limit, budget) in [(1, 1), (4, 4), (44, 44), (64, 44), (100, 89), (256, 256), (100_000, 100_000)] {
            assert_eq!(of(limit).budget(), megabytes(budget), "{limit}");
            assert!(of(limit).budget() + OWN <= of(limit).most());
        }
        assert_eq!((of(64).most(), of(256).most()), (megabytes(80), megabytes(320)));
        assert_eq!(of(u64::MAX).budget(), u64::MAX - OWN);
        assert_eq!(Memory { share: Some(7), ..of(64) }.budget(), 7);
    }
}
