//! Estimates the memory that loading a capture will need, for each process and layer, from a sample of its buffers.
//!
//! Rows and frees are scaled up by bytes; the maximum of live blocks follows from their difference over time; the
//! number of distinct stacks is estimated from repetitions ([`Distinct`]). Cost: reads 64 buffers and those at both
//! ends of each file, independent of the size of the capture; takes milliseconds.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::capture::Capture;
use super::distinct::Distinct;
use super::sample::{Sample, Tally};
use crate::etl::{BufferInfo, BufferKind, ReadBuffer, TraceFile};
use crate::events::{Batch, Wants, decode_buffer, process_names};
use crate::model::{PREPARED_A_ROW, Scope, unknown_label};
use crate::units::{Layer, Pid};

/// Number of sampled buffers.
const SAMPLES: usize = 64;

/// Number of buffers at each end of a file that are searched for process names: the rundowns are there.
const ENDS: usize = 32;

// Average bytes in memory; tables that grow by doubling are three quarters full. The memory that is counted while
// loading is in `model::builder::limit`.
const ROW: f64 = 24.0 + PREPARED_A_ROW as f64;
const DEATH: f64 = 4.0;
const FREED_AT: f64 = 4.0;
const BLOCK: f64 = 18.0;
const RANGE: f64 = 96.0;
/// A range that was reserved and released; that takes two events.
const RESERVATION: f64 = 40.0;
const NODE: f64 = 55.0;
const STACK: f64 = 80.0;
const SITE: f64 = 72.0;
const KEY: f64 = 111.0;
/// Bytes reserved for the definition of a stack key.
const TO_DEFINE: f64 = 512.0;

/// The memory need of one layer of one process. All numbers are estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// The process.
    pub pid: Pid,
    /// The layer.
    pub layer: Layer,
    /// Memory events.
    pub events: f64,
    /// Allocations.
    pub rows: f64,
    /// Frees.
    pub frees: f64,
    /// Maximum number of live blocks.
    pub live: f64,
    /// Bytes for the sites of frees, if stacks are loaded.
    pub freed_bytes: f64,
    /// Bytes for stacks.
    pub stack_bytes: f64,
    /// Bytes for sites, if stacks are loaded.
    pub site_bytes: f64,
}

impl Part {
    /// Memory in bytes, with or without stacks.
    fn bytes(&self, stacks: bool) -> f64 {
        let (block, event) = if self.layer == Layer::Commit { (RANGE, RESERVATION / 2.0) } else { (BLOCK, 0.0) };
        let rows = self.rows * ROW + self.frees * DEATH + self.live * block + self.events * event;
        if stacks { rows + self.freed_bytes + self.stack_bytes + self.site_bytes } else { rows }
    }
}

/// The memory need of a capture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Estimate {
    /// Needs by process and layer; processes with very few events can be missing.
    pub parts: Vec<Part>,
    /// Process names, as far as they were found.
    pub names: BTreeMap<Pid, String>,
}

impl Estimate {
    /// Samples a capture; `None` if `go_on` returned `false`.
    pub fn of(capture: &Capture, go_on: impl Fn() -> bool + Sync) -> Option<Self> {
        let mut names = BTreeMap::new();
        for file in &capture.files {
            let (ends, n) = (&file.buffers, file.buffers.len());
            let (first, last) = (ENDS.min(n), n.saturating_sub(ENDS).max(ENDS.min(n)));
            for part in [&ends[..first], &ends[last..]] {
                names.extend(process_names(file, part));
                if !go_on() {
                    return None;
                }
            }
        }
        let picked = pick(capture);
        let count: usize = capture.files.iter().map(|file| events_of(file).count()).sum();
        let take = |scratch: &mut ReadBuffer, &(file, buffer, weight): &(&TraceFile, &BufferInfo, f64)| {
            go_on().then(|| Sample::of(&decode_buffer(file, buffer, &Wants::default(), scratch, Batch::default()), weight))
        };
        let mut samples: Vec<Sample> = picked.par_iter().map_init(ReadBuffer::default, take).collect::<Option<_>>()?;
        samples.sort_by_key(|sample| sample.first_time);
        Some(Self { parts: parts(&samples, count), names })
    }

    /// Memory for the whole capture, in bytes.
    pub fn total(&self) -> u64 {
        self.bytes(&Scope::default())
    }

    /// Memory for a part of the capture, in bytes.
    pub fn bytes(&self, scope: &Scope) -> u64 {
        let parts = self.parts.iter().filter(|part| scope.has(part.pid, part.layer));
        parts.map(|part| part.bytes(scope.stacks)).sum::<f64>() as u64
    }

    /// Memory of each process in bytes, in these layers, with or without stacks.
    pub fn by_process(&self, layers: &[Layer], stacks: bool) -> BTreeMap<Pid, u64> {
        let mut bytes = BTreeMap::new();
        for part in &self.parts {
            let wanted = if layers.contains(&part.layer) { part.bytes(stacks) } else { 0.0 };
            *bytes.entry(part.pid).or_default() += wanted as u64;
        }
        bytes
    }

    /// Name and id of a process.
    pub fn name(&self, pid: Pid) -> String {
        match self.names.get(&pid) {
            Some(name) => format!("{name} ({pid})"),
            None if pid.is_known() => unknown_label(pid),
            None => "Unknown process".to_owned(),
        }
    }
}

fn events_of(file: &TraceFile) -> impl Iterator<Item = &BufferInfo> {
    file.buffers.iter().filter(|buffer| buffer.kind != BufferKind::NoEvents)
}

/// Picks buffers at even distances in bytes, each with the number of buffers that it represents.
fn pick(capture: &Capture) -> Vec<(&TraceFile, &BufferInfo, f64)> {
    let all: Vec<_> = capture.files.iter().flat_map(|file| events_of(file).map(move |buffer| (file, buffer))).collect();
    if all.len() <= SAMPLES {
        return all.into_iter().map(|(file, buffer)| (file, buffer, 1.0)).collect();
    }
    let total: u64 = all.iter().map(|(_, buffer)| u64::from(buffer.size)).sum();
    let stride = total as f64 / SAMPLES as f64;
    let (mut before, mut next) = (0.0, stride / 2.0);
    let mut picked = Vec::with_capacity(SAMPLES);
    for (file, buffer) in all {
        let size = f64::from(buffer.size);
        before += size;
        let mut stands_for = 0.0;
        while next < before {
            stands_for += stride / size;
            next += stride;
        }
        if stands_for > 0.0 {
            picked.push((file, buffer, stands_for));
        }
    }
    picked
}

/// Sums over the samples for one process and layer, added in the order of time.
#[derive(Default)]
struct Sums {
    events: f64,
    rows: f64,
    frees: f64,
    has_free_stacks: bool,
    alive: f64,
    least_alive: f64,
    live: f64,
    nodes: Distinct<u64>,
    stacks: Distinct<u64>,
    sites: Distinct<(u64, u64)>,
    keys: Distinct<u64>,
}

impl Sums {
    fn add(&mut self, tally: &Tally, weight: f64) {
        self.events += tally.events as f64 * weight;
        self.rows += tally.rows as f64 * weight;
        self.frees += tally.frees as f64 * weight;
        self.has_free_stacks |= tally.has_free_stacks;
        self.alive += (tally.rows as f64 - tally.frees as f64) * weight;
        // Frees of blocks from before the trace must not lower the number of live blocks.
        self.least_alive = self.least_alive.min(self.alive);
        self.live = self.live.max(self.alive - self.least_alive);
        self.nodes.add(tally.nodes.iter().copied());
        self.stacks.add(tally.stacks.iter().copied());
        self.sites.add(tally.sites.iter().copied());
        self.keys.add(tally.keys.iter().copied());
    }
}

fn parts(samples: &[Sample], all: usize) -> Vec<Part> {
    let mut sums: BTreeMap<(Pid, Layer), Sums> = BTreeMap::new();
    let (mut defined_nodes, mut definitions) = (BTreeSet::<u64>::new(), BTreeSet::<u64>::new());
    let mut shared = Sums::default();
    for sample in samples {
        for (place, tally) in &sample.tallies {
            sums.entry(*place).or_default().add(tally, sample.weight);
        }
        let all = || sample.tallies.values();
        shared.nodes.add(all().flat_map(|tally| &tally.nodes).copied().collect::<BTreeSet<u64>>());
        shared.stacks.add(all().flat_map(|tally| &tally.stacks).copied().collect::<BTreeSet<u64>>());
        defined_nodes.extend(sample.defined.nodes.iter().copied());
        definitions.extend(sample.defined.stacks.iter().copied());
    }
    let count = samples.len();
    let of_stacks = |sums: &Sums| sums.nodes.estimate(count, all) * NODE + sums.stacks.estimate(count, all) * STACK;
    // Processes share stacks: processes of the same program have the same addresses.
    let apart: f64 = sums.values().map(of_stacks).sum();
    let share = if apart > 0.0 { (of_stacks(&shared) / apart).min(1.0) } else { 1.0 };
    let nodes_a_definition = defined_nodes.len() as f64 / definitions.len().max(1) as f64;
    let estimate = |((pid, layer), sums): (&(Pid, Layer), &Sums)| {
        let keys = sums.keys.estimate(count, all) * (KEY + TO_DEFINE.max(nodes_a_definition * NODE));
        Part {
            pid: *pid,
            layer: *layer,
            events: sums.events,
            rows: sums.rows,
            frees: sums.frees,
            live: sums.live.min(sums.rows),
            freed_bytes: if sums.has_free_stacks { sums.rows * FREED_AT } else { 0.0 },
            stack_bytes: of_stacks(sums) * share + keys,
            site_bytes: sums.sites.estimate(count, all) * SITE,
        }
    };
    sums.iter().map(estimate).collect()
}
