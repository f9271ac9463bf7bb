//! Traces that need more memory than there is: what is said of them, and how a
//! report loads no more than it is asked for.

use clap::Args;

use super::output;
use crate::format::rough_bytes;
use crate::load::{Capture, Estimate, Plan, Processes, Scope, default_budget, describe_scope};
use crate::units::Layer;

/// How much memory may be used.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Use at most about so much memory, in MB [default: three quarters of the machine's]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,
}

impl Memory {
    /// In bytes.
    pub(super) fn budget(self) -> u64 {
        self.memory_limit.map_or_else(default_budget, megabytes)
    }

    /// What each of two captures may use that are in memory together: as much as it likes, or, where both
    /// together need more than there is, its part.
    pub(super) fn dealt(self, captures: [&Capture; 2]) -> [Self; 2] {
        let budget = self.budget();
        let needs = captures.map(|capture| Estimate::of(capture, || true).map_or(capture.bytes(), |estimate| estimate.total()));
        let all = needs.iter().fold(0, |all: u64, need| all.saturating_add(*need));
        if all <= budget {
            return [self; 2];
        }
        let part = |need: u64| (u128::from(budget) * u128::from(need) / u128::from(all)) as u64 / megabytes(1);
        needs.map(|need| Self { memory_limit: Some(part(need).max(1)) })
    }
}

/// Megabytes in bytes.
pub(super) fn megabytes(n: u64) -> u64 {
    n.saturating_mul(1 << 20)
}

/// What is to be done about the trace.
const ADVICE: &str = "name a --process or a --layer to load only that, or allow more with --memory-limit";

/// What a capture needs if that is more than the budget.
fn too_large(capture: &Capture, budget: u64) -> Option<Estimate> {
    if capture.surely_fits(budget) {
        return None;
    }
    Estimate::of(capture, || true).filter(|estimate| estimate.total() > budget)
}

fn need(capture: &Capture, estimate: &Estimate, budget: u64) -> String {
    let name = capture.files.first().map_or("", |file| file.name.as_str());
    let (need, budget) = (rough_bytes(estimate.total()), rough_bytes(budget));
    format!("{name}: all of this trace needs about {need} of memory, and {budget} may be used")
}

/// Says so if a capture needs more than the budget.
pub(super) fn warn(capture: &Capture, memory: Memory) {
    if let Some(estimate) = too_large(capture, memory.budget()) {
        output::message(&format!("{}; for a report {ADVICE}", need(capture, &estimate, memory.budget())));
    }
}

/// All of a capture, or, where that needs more than the budget, what the filters ask for.
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
