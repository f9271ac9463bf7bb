//! The user's choice of what to load of a trace that needs more memory than allowed. Pure state: the
//! dialog is `panels::offer`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::TooLarge;
use crate::load::{Estimate, Processes, Scope};
use crate::units::{Layer, Pid};

/// The choice so far.
#[derive(Clone, Debug)]
pub struct ScopeChoice {
    pub estimate: Arc<Estimate>,
    /// Bytes that may be used.
    pub budget: u64,
    /// Processes of the estimate, the largest first.
    pub processes: Vec<Pid>,
    /// Bytes that each process needs in the chosen layers.
    bytes: BTreeMap<Pid, u64>,
    left_out: BTreeSet<Pid>,
    /// Whether to load processes that the estimate did not find.
    pub others: bool,
    layers_left_out: Vec<Layer>,
    pub stacks: bool,
    pub search: String,
}

/// A change to the choice.
#[derive(Clone, Debug)]
pub enum ScopeChange {
    /// Load these processes or leave them out.
    Processes(Vec<Pid>, bool),
    /// Load all processes, including unlisted ones.
    AllProcesses(bool),
    /// Load unlisted processes.
    Others(bool),
    Layer(Layer, bool),
    Stacks(bool),
    Search(String),
}

impl ScopeChoice {
    pub fn new(too_large: TooLarge) -> Self {
        let TooLarge { estimate, budget } = too_large;
        let bytes = estimate.by_process(&Layer::ALL, true);
        let mut processes: Vec<Pid> = bytes.keys().copied().collect();
        processes.sort_by_key(|pid| std::cmp::Reverse(bytes[pid]));
        Self {
            processes,
            bytes,
            estimate,
            budget,
            left_out: BTreeSet::new(),
            others: true,
            layers_left_out: Vec::new(),
            stacks: true,
            search: String::new(),
        }
    }

    pub fn change(&mut self, change: ScopeChange) {
        match change {
            ScopeChange::Processes(pids, true) => self.left_out.retain(|pid| !pids.contains(pid)),
            ScopeChange::Processes(pids, false) => self.left_out.extend(pids),
            ScopeChange::AllProcesses(wanted) => {
                self.left_out = if wanted { BTreeSet::new() } else { self.processes.iter().copied().collect() };
                self.others = wanted;
            }
            ScopeChange::Others(wanted) => self.others = wanted,
            ScopeChange::Layer(layer, wanted) => {
                self.layers_left_out.retain(|&other| other != layer);
                if !wanted {
                    self.layers_left_out.push(layer);
                }
            }
            ScopeChange::Stacks(wanted) => self.stacks = wanted,
            ScopeChange::Search(text) => self.search = text,
        }
        self.bytes = self.estimate.by_process(&self.layers(), self.stacks);
    }

    fn layers(&self) -> Vec<Layer> {
        Layer::ALL.into_iter().filter(|&layer| self.has_layer(layer)).collect()
    }

    pub fn has(&self, pid: Pid) -> bool {
        !self.left_out.contains(&pid)
    }

    pub fn has_layer(&self, layer: Layer) -> bool {
        !self.layers_left_out.contains(&layer)
    }

    /// The choice as a scope for the load.
    pub fn scope(&self) -> Scope {
        let wanted = || self.processes.iter().copied().filter(|&pid| self.has(pid)).collect();
        let processes = match (self.others, self.left_out.is_empty()) {
            (true, true) => Processes::All,
            (true, false) => Processes::Except(self.left_out.clone()),
            (false, _) => Processes::Only(wanted()),
        };
        Scope { processes, layers: self.layers(), stacks: self.stacks }
    }

    /// Bytes that the choice needs.
    pub fn bytes(&self) -> u64 {
        self.estimate.bytes(&self.scope())
    }

    /// Bytes that one process needs, in the chosen layers.
    pub fn bytes_of(&self, pid: Pid) -> u64 {
        self.bytes.get(&pid).copied().unwrap_or(0)
    }

    /// Bytes that a layer needs, of the chosen processes.
    pub fn bytes_in(&self, layer: Layer) -> u64 {
        self.estimate.bytes(&Scope { layers: vec![layer], ..self.scope() })
    }

    /// Bytes that the stacks of the choice need.
    pub fn bytes_of_stacks(&self) -> u64 {
        let with = |stacks| self.estimate.bytes(&Scope { stacks, ..self.scope() });
        with(true) - with(false)
    }

    /// The processes whose name or id contains the search text.
    pub fn found(&self) -> impl Iterator<Item = Pid> {
        let search = self.search.to_lowercase();
        self.processes.iter().copied().filter(move |&pid| self.estimate.name(pid).to_lowercase().contains(&search))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Part;

    fn offer() -> ScopeChoice {
        let part = |pid, layer, rows| Part {
            pid: Pid(pid),
            layer,
            events: rows,
            rows,
            frees: 0.0,
            live: 0.0,
            freed_bytes: 0.0,
            stack_bytes: 100.0,
            site_bytes: 0.0,
        };
        let parts = vec![part(1, Layer::Heap, 10.0), part(1, Layer::Commit, 1.0), part(2, Layer::Heap, 100.0)];
        let names = [(Pid(2), "Big.exe".to_owned())].into();
        ScopeChoice::new(TooLarge { estimate: Arc::new(Estimate { parts, names }), budget: 1 })
    }

    #[test]
    fn the_estimate_follows_the_choice() {
        // A row, and the data prepared for it.
        const ROW: u64 = 24 + 3 + 4 + 2 + 2;
        // Half of what is kept of a reservation, for each event of commit.
        const COMMIT_EVENT: u64 = 20;
        let mut offer = offer();
        assert_eq!(offer.processes, [Pid(2), Pid(1)], "the largest first");
        assert!(offer.scope().is_all());
        assert_eq!(offer.bytes(), offer.estimate.total());
        let all = offer.bytes();
        offer.change(ScopeChange::Processes(vec![Pid(2)], false));
        assert_eq!(offer.scope().processes, Processes::Except([Pid(2)].into()));
        let first = 11 * ROW + 200 + COMMIT_EVENT;
        assert_eq!((offer.bytes(), offer.bytes_of(Pid(2))), (first, all - first));
        offer.change(ScopeChange::Others(false));
        assert_eq!(offer.scope().processes, Processes::Only([Pid(1)].into()));
        offer.change(ScopeChange::Layer(Layer::Commit, false));
        assert_eq!(offer.bytes(), 10 * ROW + 100);
        offer.change(ScopeChange::Stacks(false));
        assert_eq!(offer.bytes(), 10 * ROW);
        offer.change(ScopeChange::AllProcesses(false));
        assert_eq!(offer.bytes(), 0);
        offer.change(ScopeChange::Layer(Layer::Commit, true));
        offer.change(ScopeChange::Stacks(true));
        offer.change(ScopeChange::AllProcesses(true));
        assert!(offer.scope().is_all());
    }

    #[test]
    fn processes_are_found_by_name_in_any_case_and_by_id() {
        let mut offer = offer();
        let mut found = |text: &str| {
            offer.change(ScopeChange::Search(text.to_owned()));
            offer.found().collect::<Vec<_>>()
        };
        assert_eq!(found("bIG"), [Pid(2)]);
        assert_eq!(found("unknown (1"), [Pid(1)]);
        assert_eq!(found(""), [Pid(2), Pid(1)]);
        assert_eq!(found("nothing"), []);
    }
}
