//! Finds the reserved range of a process that has an address at a moment, among all ranges that were ever reserved.
//!
//! A segment tree over the addresses at which ranges begin or end: each range is listed in the few nodes that it covers
//! together, and those in one node follow each other in time, because ranges of one process never overlap. However ranges
//! are split, joined and reused, the tree has a few entries for each, and a search takes a few steps.

use crate::model::{ProcessId, Reservation, Reservations, covering_nodes};
use crate::units::Ticks;

/// The ranges of all processes.
#[derive(Debug)]
pub(super) struct RangeFinder {
    ranges: Vec<Reservation>,
    /// Processes and addresses at which a range begins or ends, sorted.
    bounds: Vec<(u32, u64)>,
    /// Where the entries of each node begin; node 1 is the root, and the leaves come last.
    nodes: Vec<u32>,
    /// Numbers of ranges, by node, then by time.
    entries: Vec<u32>,
}

impl RangeFinder {
    pub(super) fn new(reservations: &Reservations) -> Self {
        let ranges: Vec<Reservation> = reservations.iter().copied().collect();
        let edges = |range: &Reservation| [(range.process.0, range.from), (range.process.0, range.to)];
        let mut bounds: Vec<(u32, u64)> = ranges.iter().flat_map(edges).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let mut listed: Vec<(u32, Ticks, u32)> = Vec::new();
        for (number, range) in (0..).zip(&ranges) {
            let place = |address| bounds.partition_point(|bound| *bound < (range.process.0, address));
            covering_nodes(bounds.len(), place(range.from)..place(range.to), |node| {
                listed.push((node as u32, range.since, number));
            });
        }
        listed.sort_unstable();
        let mut nodes = vec![0; 2 * bounds.len() + 1];
        listed.iter().for_each(|(node, ..)| nodes[*node as usize + 1] += 1);
        (1..nodes.len()).for_each(|node| nodes[node] += nodes[node - 1]);
        let entries = listed.into_iter().map(|(.., number)| number).collect();
        Self { ranges, bounds, nodes, entries }
    }

    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The number of the range that was reserved from a moment on, or since before it, and has an address.
    pub(super) fn find(&self, process: ProcessId, address: u64, at: Ticks) -> Option<u32> {
        let leaf = self.bounds.partition_point(|bound| *bound <= (process.0, address)).checked_sub(1)?;
        let mut node = leaf + self.bounds.len();
        while node > 0 {
            let listed = &self.entries[self.nodes[node] as usize..self.nodes[node + 1] as usize];
            let later = listed.partition_point(|number| self.ranges[*number as usize].since <= at);
            let number = later.checked_sub(1).map(|place| listed[place]);
            if let Some(number) = number.filter(|number| self.has(*number, process, address, at)) {
                return Some(number);
            }
            node /= 2;
        }
        None
    }

    /// Whether a range of a process has an address at a moment.
    pub(super) fn has(&self, number: u32, process: ProcessId, address: u64, at: Ticks) -> bool {
        let range = &self.ranges[number as usize];
        range.process == process && (range.from..range.to).contains(&address) && range.since <= at && at < range.until
    }
}
